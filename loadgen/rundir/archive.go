package rundir

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/runfile"
)

// packed is a file that goes into an archive.
type packed struct {
	path, name string // on disk, and in the archive
	info       fs.FileInfo
}

// ArchiveRuns writes folders into a .tar.gz that tar can unpack, each under its own name. It reads the archive back and
// compares every file with the one on disk before the archive gets its name. It does not replace an existing archive.
func ArchiveRuns(ctx context.Context, folders []string, to string) (files int, err error) {
	all, err := collect(folders)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(to); err == nil {
		return 0, fmt.Errorf("%s: %w", to, fs.ErrExist)
	}
	file, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	err = write(ctx, file, all)
	if err = errors.Join(err, file.Chmod(modeOf(all)), file.Sync(), file.Close()); err != nil {
		return 0, err
	}
	if err := verify(ctx, file.Name(), all); err != nil {
		return 0, err
	}
	return len(all), publishAs(file.Name(), to)
}

// modeOf returns the mode of an archive: readable only by its owner if one of its files is.
func modeOf(all []packed) fs.FileMode {
	for _, p := range all {
		if p.info.Mode().Perm()&0o044 == 0 {
			return 0o600
		}
	}
	return 0o640
}

// publishAs renames a file, unless the name exists by now.
func publishAs(temporary, to string) error {
	err := runfile.RenameNew(temporary, to)
	if errors.Is(err, errors.ErrUnsupported) {
		err = os.Link(temporary, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return nil
}

// collect lists the files of folders.
func collect(folders []string) ([]packed, error) {
	var all []packed
	taken := map[string]string{}
	for _, dir := range folders {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		base := filepath.Base(dir)
		if other, twice := taken[base]; twice {
			return nil, fmt.Errorf("%s and %s: both are called %s, and one archive has one of a name", other, dir, base)
		}
		taken[base] = dir
		err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if !info.IsDir() && !info.Mode().IsRegular() {
				return fmt.Errorf("%s: it is neither a file nor a folder and is not archived", path)
			}
			all = append(all, packed{path, filepath.ToSlash(filepath.Join(base, relative)), info})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func write(ctx context.Context, file io.Writer, all []packed) error {
	buffer := bufio.NewWriterSize(file, 256<<10)
	compress := gzip.NewWriter(buffer)
	archive := tar.NewWriter(compress)
	for _, p := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := add(archive, p); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	return errors.Join(archive.Close(), compress.Close(), buffer.Flush())
}

// add adds a file to the archive, without its owner.
func add(archive *tar.Writer, p packed) error {
	header := &tar.Header{Name: p.name, Mode: int64(p.info.Mode().Perm()), ModTime: p.info.ModTime(), Format: tar.FormatPAX}
	if p.info.IsDir() {
		header.Typeflag, header.Name = tar.TypeDir, p.name+"/"
		return archive.WriteHeader(header)
	}
	header.Typeflag, header.Size = tar.TypeReg, p.info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	file, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(archive, file)
	return err
}

// verify reads an archive back and compares it with the disk.
func verify(ctx context.Context, path string, all []packed) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(bufio.NewReaderSize(file, 256<<10))
	if err != nil {
		return err
	}
	archive := tar.NewReader(plain)
	for _, p := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := archive.Next()
		if err != nil {
			return fmt.Errorf("%s: it is not in the archive: %w", p.path, err)
		}
		if strings.TrimSuffix(header.Name, "/") != p.name {
			return fmt.Errorf("%s: it is not in the archive, which has %s there", p.path, header.Name)
		}
		if err := same(archive, p); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	switch header, err := archive.Next(); {
	case err == nil:
		return fmt.Errorf("%s: it has %s too, which is not on disk any more", path, header.Name)
	case !errors.Is(err, io.EOF):
		return err
	}
	_, err = io.Copy(io.Discard, plain) // through its checksum
	return err
}

func same(archived io.Reader, p packed) error {
	if p.info.IsDir() {
		return nil
	}
	file, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer file.Close()
	onDisk, inArchive := sha256.New(), sha256.New()
	if _, err := io.Copy(onDisk, file); err != nil {
		return err
	}
	if _, err := io.Copy(inArchive, archived); err != nil {
		return err
	}
	if !slices.Equal(onDisk.Sum(nil), inArchive.Sum(nil)) {
		return errors.New("it is not as it was archived: it changed meanwhile")
	}
	return nil
}

// RemoveArchived removes archived folders. It compares the archive with them once more, so that files written meanwhile are not
// lost.
func RemoveArchived(ctx context.Context, folders []string, archive string) error {
	all, err := collect(folders)
	if err != nil {
		return err
	}
	if err := verify(ctx, archive, all); err != nil {
		return err
	}
	for _, dir := range folders {
		if err := remove(dir); err != nil {
			return err
		}
	}
	return nil
}
