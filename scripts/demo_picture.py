"""`make demo-picture`: the top of the demo's report as docs/images/demo-report.png, as a browser shows it."""

import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "demo-report.png"
SIZE = {"width": 1280, "height": 1560}
FLAGS = ["--no-sandbox", "--disable-gpu"]


def main(page_file: str, image: str = str(IMAGE)) -> None:
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None:
        sys.exit("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.goto(Path(page_file).resolve().as_uri())
        page.screenshot(path=image)
        browser.close()
    # A page has few colours: this way an image takes a third.
    Image.open(image).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(image, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
