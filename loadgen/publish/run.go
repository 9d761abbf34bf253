package publish

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runfile"
	"github.com/umascope/umascope/loadgen/summary"
)

// Extra is a file, or a folder of files, of a run that packs leave out by default: prompts and answers, and output of
// other programs. They go in as they are.
type Extra string

// The extras.
const (
	ExtraOutputs       Extra = "outputs"
	ExtraConversations Extra = "conversations"
	ExtraLogs          Extra = "logs"
	ExtraCaptures      Extra = "captures"
	ExtraSnapshots     Extra = "snapshots"
)

// Extras returns all extras.
func Extras() []Extra {
	return []Extra{ExtraOutputs, ExtraConversations, ExtraLogs, ExtraCaptures, ExtraSnapshots}
}

// ParseExtra reads the name of an extra.
func ParseExtra(text string) (Extra, error) {
	if extra := Extra(text); slices.Contains(Extras(), extra) {
		return extra, nil
	}
	return "", fmt.Errorf("%q is none of %s", text, joined(Extras()))
}

func joined(extras []Extra) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(extras), "[]"), " ", ", ")
}

// extraOf returns the extra that a file of a run folder belongs to.
func extraOf(path string) (Extra, bool) {
	top, _, _ := strings.Cut(path, "/")
	extra, is := map[string]Extra{
		rundir.OutputsFile: ExtraOutputs, rundir.ConversationsFile: ExtraConversations,
		rundir.LogsFolder: ExtraLogs, rundir.CapturesFolder: ExtraCaptures, rundir.SnapshotsFolder: ExtraSnapshots,
	}[top]
	return extra, is
}

// change writes what goes into a pack of a file.
type change func(from io.Reader, to io.Writer) error

// member is a file of a run folder that a pack has, with the change to its content.
type member struct {
	path  string // with slashes, without .gz
	packs bool   // the pack has it compressed
	change
}

// members returns the files of a run folder that go into a pack, in the order of their paths, and the files that are
// left out.
func (b *builder) members(dir string) (in []member, out []string, err error) {
	paths, err := filesOf(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		m, known := b.member(path)
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return nil, nil, err
		}
		if !known || !info.Mode().IsRegular() {
			out = append(out, path)
			continue
		}
		in = append(in, m)
	}
	return in, out, nil
}

// member returns how a file of a run goes into the pack; false if it does not.
func (b *builder) member(path string) (member, bool) {
	bare := strings.TrimSuffix(path, ".gz")
	if extra, is := extraOf(bare); is {
		return member{bare, true, copied}, slices.Contains(b.With, extra)
	}
	switch bare {
	case rundir.ManifestFile:
		return member{bare, false, object[rundir.Manifest](b.names)}, true
	case rundir.SummaryFile:
		return member{bare, false, object[summary.Summary](b.names)}, true
	case rundir.PhasesFile:
		return member{bare, false, object[rundir.Phases](b.names)}, true
	case rundir.ScheduleFile:
		return member{bare, true, lines[rundir.ScheduleLine](b.names)}, true
	case rundir.RequestsFile:
		return member{bare, true, lines[openai.Record](b.names)}, true
	case strings.TrimSuffix(rundir.TelemetryFile, ".gz"):
		return member{bare, true, b.names.telemetry}, true
	}
	return member{}, false
}

func copied(from io.Reader, to io.Writer) error {
	_, err := io.Copy(to, from)
	return err
}

// damage is an error in the contents of a run folder, as opposed to an error of writing the pack.
type damage struct{ error }

func (d *damage) Unwrap() error { return d.error }

// packRun writes a run into the pack, and reads its manifest from there. After an error that is a damage no file of the
// run remains.
func (b *builder) packRun(ctx context.Context, from rundir.Folder) (to rundir.Folder, m rundir.Manifest, err error) {
	if m, err = manifestOf(from); err != nil {
		return "", m, &damage{err}
	}
	to = rundir.Folder(filepath.Join(b.stage, RunsFolder, b.names.run(m.Run)))
	in, out, err := b.members(string(from))
	if err != nil {
		err = &damage{fmt.Errorf("%s: %w", from, err)}
	}
	for i := 0; i < len(in) && err == nil; i++ {
		if err = ctx.Err(); err == nil {
			err = b.packFile(from, to, in[i])
		}
	}
	if err != nil {
		return "", m, errors.Join(err, os.RemoveAll(string(to)))
	}
	b.leaveOut(out)
	m, err = manifestOf(to)
	return to, m, err
}

// leaveOut records files of a run that are not in the pack.
func (b *builder) leaveOut(paths []string) {
	for _, path := range paths {
		top, _, _ := strings.Cut(path, "/")
		if top = b.names.word("file", top); !slices.Contains(b.pack.LeftOut, top) {
			b.pack.LeftOut = append(b.pack.LeftOut, top)
		}
	}
}

// packFile writes a file of a run. Compressed files are decompressed for reading; long files are written compressed.
func (b *builder) packFile(from, to rundir.Folder, m member) error {
	content, err := open(from.Path(filepath.FromSlash(m.path)))
	if err != nil {
		return &damage{fmt.Errorf("%s: %s: %w", from, m.path, err)}
	}
	defer content.Close()
	path := m.path
	if m.packs {
		path += ".gz"
	}
	full := to.Path(filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(full, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	read, err := write(file, m, content)
	if err = errors.Join(err, file.Close()); err == nil && read != nil {
		err = &damage{fmt.Errorf("%s: %s: %w", from, m.path, read)}
	}
	return err
}

// write writes a file of a run. Read is the error in its content; err is the error of writing.
func write(file *os.File, m member, content io.Reader) (read, err error) {
	buffer := bufio.NewWriterSize(file, 256<<10)
	if !m.packs {
		read = m.change(content, buffer)
		return read, buffer.Flush() // it repeats the error of an earlier write
	}
	compress := gzip.NewWriter(buffer)
	read = m.change(content, compress)
	return read, errors.Join(compress.Close(), buffer.Flush())
}

// content is the decompressed content of a file.
type content struct {
	io.Reader
	file *os.File
}

func (c content) Close() error { return c.file.Close() }

// open opens a file that is stored plain or compressed.
func open(path string) (io.ReadCloser, error) {
	file, err := runfile.Open(path)
	if err == nil {
		return file, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if file, err = runfile.Open(path + ".gz"); err != nil {
		return nil, err
	}
	plain, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return content{tolerant{plain}, file}, nil
}

// tolerant reads a compressed file of a run that was killed, up to the point where it is cut.
type tolerant struct{ io.Reader }

func (t tolerant) Read(into []byte) (int, error) {
	n, err := t.Reader.Read(into)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
