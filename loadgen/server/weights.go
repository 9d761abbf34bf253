package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/rundir"
)

const (
	procPath = "/proc"
	// longestConfig, in bytes, and mostWeightFiles limit what is read of a folder that a server names.
	longestConfig   = 4 << 20
	mostWeightFiles = 10_000
)

// weightsBehind measures the folder from which a server on this machine reports that it has loaded its model. It
// resolves the folder as the server's process sees it, which differs in a container. The shape of the model is nil if
// its config.json was not read; a folder without weights has one too.
func weightsBehind(address, dir string) (rundir.Weights, *roofline.Shape, error) {
	port, err := loopbackPort(address)
	if err != nil {
		return rundir.Weights{}, nil, err
	}
	if !path.IsAbs(dir) {
		return rundir.Weights{}, nil, errors.New("the server names no folder that it loaded the model from")
	}
	proc, err := procfs.NewFS(procPath)
	if err != nil {
		return rundir.Weights{}, nil, err
	}
	pid, err := listeningProcess(proc, port)
	if err != nil {
		return rundir.Weights{}, nil, err
	}
	// The path that the server names must not lead out of the process's own root.
	root, err := os.OpenRoot(path.Join(procPath, strconv.Itoa(pid), "root"))
	if err != nil {
		return rundir.Weights{}, nil, errors.New("the files of the server's process cannot be seen")
	}
	defer root.Close()
	return measureFolder(root, path.Join(".", path.Clean(dir)))
}

// loopbackPort returns the port of a server on this machine.
func loopbackPort(address string) (uint64, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, errors.New("no address")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return 0, errors.New("the server is not on this machine's loopback")
	}
	name := u.Port()
	if name == "" {
		name = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strconv.ParseUint(name, 10, 16)
}

// measureFolder hashes the model's configuration and adds up the sizes of its weights. A hub's cache has links to
// other folders of the same root.
func measureFolder(root *os.Root, dir string) (rundir.Weights, *roofline.Shape, error) {
	config, err := readConfig(root, path.Join(dir, "config.json"))
	if err != nil {
		return rundir.Weights{}, nil, err
	}
	sum := sha256.Sum256(config)
	w, files := rundir.Weights{ConfigSHA256: hex.EncodeToString(sum[:])}, map[string]int64{}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return rundir.Weights{}, nil, errors.New("the model's folder cannot be read")
	}
	for _, entry := range entries {
		if !slices.Contains([]string{".safetensors", ".gguf", ".bin"}, path.Ext(entry.Name())) {
			continue
		}
		info, err := root.Stat(path.Join(dir, entry.Name()))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if w.Files++; w.Files > mostWeightFiles {
			return rundir.Weights{}, nil, errors.New("the model's folder has too many files")
		}
		w.Bytes += info.Size()
		files[entry.Name()] = info.Size()
	}
	var known *roofline.Shape
	if shape, err := roofline.ParseConfig(config); err == nil {
		known = &shape
	}
	if w.Files == 0 {
		return rundir.Weights{}, known, errors.New("the model's folder has no files of weights that are known as such")
	}
	if known != nil {
		w.Step = new(known.Model(float64(roofline.WeightBytes(files)), 0))
	}
	return w, known, nil
}

// readConfig reads a regular file of limited size. It checks the file before it opens it: opening a named pipe would
// block.
func readConfig(root *os.Root, name string) ([]byte, error) {
	unusable := errors.New("the model's folder has no usable config.json")
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > longestConfig {
		return nil, unusable
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, unusable
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestConfig))
	if err != nil {
		return nil, unusable
	}
	return text, nil
}
