package rewrite

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// exchange does not exist here.
func exchange(string, string) error { return errNoExchange }

// renameNew gives a file a name that is not taken; fs.ErrExist when it is.
func renameNew(from, to string) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return whileShared(func() error { return windows.MoveFileEx(old, name, windows.MOVEFILE_WRITE_THROUGH) })
}

// rename replaces the target (MoveFileEx with MOVEFILE_REPLACE_EXISTING).
func rename(from, to string) error { return whileShared(func() error { return os.Rename(from, to) }) }

// whileShared tries again for two seconds while another program (often a virus scanner) has a file open.
func whileShared(try func() error) error {
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if !isInUse(err) || time.Now().After(deadline) {
			return err
		}
	}
}

func isInUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// secondName is not made here: a program that has the old file open keeps it from being replaced anyhow.
func secondName(string, string) error { return errNoExchange }

func openToRead(path string) (f *os.File, err error) {
	err = whileShared(func() error {
		f, err = os.Open(path)
		return err
	})
	return f, err
}

// openForWriting cannot be asked for here; a file that a program writes to cannot be replaced anyhow.
func openForWriting(*os.File) bool { return false }

// ownerOf is not known here: owners are no numbers on Windows.
func ownerOf(fs.FileInfo) owner { return owner{} }

func linksOf(f *os.File, _ fs.FileInfo) uint64 {
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info); err != nil {
		return 0
	}
	return uint64(info.NumberOfLinks)
}

// changedAt is when a leftover was made: here none ever held another file.
func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }

// copyAttributes copies nothing here.
func copyAttributes(string, *os.File) error { return nil }

// SyncFolder is not needed here: MoveFileEx writes through.
func SyncFolder(string) error { return nil }

// lockFolder does nothing here.
func lockFolder(string, time.Duration) (unlock func(), err error) { return func() {}, nil }

func isNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func isReadOnlySystem(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

func isMountPoint(error) bool { return false }
