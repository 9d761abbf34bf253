package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

// record writes a snapshot of this host. The file appears under its name when it is complete.
func (l *commandLine) record(ctx context.Context, stdout io.Writer) error {
	host := l.mounts.live()
	if _, err := hostfs.ReadMeminfo(host.Proc); err != nil {
		return badInput("--path.procfs %s: not a procfs: %w", l.mounts.proc, err)
	}
	if !hostfs.IsProcfs(l.mounts.proc) {
		return badInput("--path.procfs %s: not a procfs: a recording must not mix a copy with the driver of this machine", l.mounts.proc)
	}
	partial, err := os.CreateTemp(filepath.Dir(l.recordPath), "."+filepath.Base(l.recordPath)+".*")
	if err != nil {
		return badInput("%s: cannot be written: %w", l.recordPath, reason(err))
	}
	defer os.Remove(partial.Name()) // fails, as it should, once the file has its name
	err = snapshot.Write(ctx, partial, snapshot.Source{
		Proc: host.Proc, Sys: host.Sys, Cgroup: host.Cgroup,
		Driver: nvml.Live(), PageSize: host.PageSize, Description: l.description,
		RecordedWith: "uma-exporter " + readBuild().Version,
	})
	if err := errors.Join(err, partial.Chmod(0o644), partial.Close()); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	if err := os.Rename(partial.Name(), l.recordPath); err != nil {
		return badInput("%s: cannot be written: %w", l.recordPath, reason(err))
	}
	fmt.Fprintf(stdout, "recorded in %s; look through it before you give it away. uma-exporter explain --replay %s shows it\n", l.recordPath, l.recordPath)
	return nil
}

// reason drops the path from an error, for a line that already has it.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
