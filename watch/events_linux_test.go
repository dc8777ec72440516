package watch

import "testing"

func TestRemoteFileSystem(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		magic uint32
		want  bool
	}{
		{"NFS", 0x6969, true},
		{"CIFS", 0xff534d42, true},
		{"SMB2", 0xfe534d42, true},
		{"9p", 0x01021997, true},
		{"FUSE", 0x65735546, true},
		{"ext4", 0xef53, false},
		{"btrfs", 0x9123683e, false},
		{"tmpfs", 0x01021994, false},
		{"overlay", 0x794c7630, false},
	}
	for _, tt := range tests {
		if got := remoteFileSystem(tt.magic); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if noEvents(t.TempDir() + "/missing") {
		t.Error("a folder that is not there is said to give no events")
	}
}
