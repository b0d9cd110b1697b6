// Before anything is drawn: the theme that was chosen here, or that of the system.
try {
  const chosen = localStorage.getItem("goqueue-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* Without storage the system decides. */ }
