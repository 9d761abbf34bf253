package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// wheel is the newest release of a package.
type wheel struct{ version, url string }

// newestWheel asks pip, for Linux on x86 and Python 3.12, and downloads nothing.
func newestWheel(pkg string) (wheel, error) {
	arguments := strings.Fields("-m pip install --dry-run --ignore-installed --no-deps --only-binary :all: --python-version 3.12 --implementation cp " +
		"--disable-pip-version-check --quiet --target . --report - --platform any --platform manylinux2014_x86_64")
	for minor := 17; minor < 42; minor++ {
		arguments = append(arguments, "--platform", fmt.Sprintf("manylinux_2_%d_x86_64", minor))
	}
	out, err := exec.Command("python3", append(arguments, pkg)...).Output()
	if err != nil {
		return wheel{}, fmt.Errorf("pip does not name the newest release: %w", err)
	}
	var found struct {
		Install []struct {
			Metadata struct{ Version string }
			Download struct{ URL string } `json:"download_info"`
		}
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return wheel{}, fmt.Errorf("pip's report: %w", err)
	}
	if len(found.Install) != 1 {
		return wheel{}, fmt.Errorf("pip's report has %d packages instead of 1", len(found.Install))
	}
	return wheel{found.Install[0].Metadata.Version, found.Install[0].Download.URL}, nil
}

// names adds the names in the files of a project.
func (w wheel) names(p project, found map[string]bool) error {
	response, err := http.Head(w.url)
	if err != nil {
		return err
	}
	response.Body.Close()
	archive, err := zip.NewReader(&remote{url: w.url, client: &http.Client{Timeout: 2 * time.Minute}}, response.ContentLength)
	if err != nil {
		return err
	}
	for _, f := range archive.File {
		if !p.files.MatchString(f.Name) || strings.Contains(f.Name, "/tests/") {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(content)
		if err = errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		for _, match := range p.names.FindAllSubmatch(text, -1) {
			found[ending.ReplaceAllString(string(match[len(match)-1]), "")] = true
		}
	}
	return nil
}

// blockBytes is what a range of a wheel is asked by: directories and source files lie close together.
const blockBytes = 4 << 20

// remote reads a file on a server by ranges, one block at a time.
type remote struct {
	url    string
	client *http.Client
	number int64 // of the block
	block  []byte
}

// ReadAt is io.ReaderAt.
func (r *remote) ReadAt(p []byte, off int64) (int, error) {
	read := 0
	for read < len(p) {
		if err := r.load((off + int64(read)) / blockBytes); err != nil {
			return read, err
		}
		start := (off + int64(read)) % blockBytes
		if start >= int64(len(r.block)) {
			return read, io.EOF
		}
		read += copy(p[read:], r.block[start:])
	}
	return read, nil
}

func (r *remote) load(number int64) error {
	if r.block != nil && r.number == number {
		return nil
	}
	request, err := http.NewRequest(http.MethodGet, r.url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", number*blockBytes, (number+1)*blockBytes-1))
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("the server answers a range with %s", response.Status)
	}
	block, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	r.number, r.block = number, block
	return nil
}
