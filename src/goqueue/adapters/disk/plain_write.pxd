cimport cython

from goqueue.adapters.disk.journal cimport Journal
from goqueue.adapters.disk.journal_format cimport encode_records
from goqueue.adapters.disk.log cimport DiskLog


@cython.locals(total=Py_ssize_t, size=Py_ssize_t, entry=tuple)
cpdef plain_size(entries)

@cython.locals(log=DiskLog, touched=list, frames=list, parts=list, entry=tuple)
cpdef write_plain(entries, dict logs, Journal journal)
