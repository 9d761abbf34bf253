package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/loadgen/folder"
)

const (
	procPath = "/proc"
	// longestConfig and mostWeightFiles bound what a folder that a server names may hold.
	longestConfig   = 4 << 20
	mostWeightFiles = 10_000
	// tcpListen is the state LISTEN in /proc/net/tcp.
	tcpListen = 0x0A
)

// weightsBehind looks at the folder that a server on this machine says it has loaded its model from,
// as its process sees it: in a container that is another folder than the one of that name here.
func weightsBehind(address, dir string) (folder.Weights, error) {
	port, err := loopbackPort(address)
	if err != nil {
		return folder.Weights{}, err
	}
	if !path.IsAbs(dir) {
		return folder.Weights{}, errors.New("the server names no folder that it loaded the model from")
	}
	proc, err := procfs.NewFS(procPath)
	if err != nil {
		return folder.Weights{}, err
	}
	pid, err := listener(proc, port)
	if err != nil {
		return folder.Weights{}, err
	}
	// What the server names may not lead out of its own root.
	root, err := os.OpenRoot(path.Join(procPath, strconv.Itoa(pid), "root"))
	if err != nil {
		return folder.Weights{}, errors.New("the files of the server's process cannot be seen")
	}
	defer root.Close()
	return measureFolder(root, path.Join(".", path.Clean(dir)))
}

// loopbackPort is the port of a server on this machine.
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

// listener finds the process that listens on a port, by the inode of its socket.
func listener(proc procfs.FS, port uint64) (pid int, err error) {
	inodes := listening(proc, port)
	if len(inodes) == 0 {
		return 0, errors.New("nobody is seen to listen on the server's port")
	}
	processes, err := proc.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, process := range processes {
		targets, err := process.FileDescriptorTargets()
		if err != nil {
			continue // another user's, or gone
		}
		if slices.ContainsFunc(inodes, func(inode uint64) bool { return slices.Contains(targets, fmt.Sprintf("socket:[%d]", inode)) }) {
			return process.PID, nil
		}
	}
	return 0, errors.New("the process that listens on the server's port cannot be seen")
}

// listening returns the inodes of the sockets that listen on a port where loopback reaches them.
func listening(proc procfs.FS, port uint64) []uint64 {
	var inodes []uint64
	//lint:ignore SA1019 netlink, which is recommended instead, is one more library for two files that are read twice a run
	for _, read := range []func() (procfs.NetTCP, error){proc.NetTCP, proc.NetTCP6} {
		sockets, err := read()
		if err != nil {
			continue // a kernel without IPv6 has no such file
		}
		for _, s := range sockets {
			if s.St == tcpListen && s.LocalPort == port && reachable(s.LocalAddr) {
				inodes = append(inodes, s.Inode)
			}
		}
	}
	return inodes
}

func reachable(ip net.IP) bool { return ip.IsLoopback() || ip.IsUnspecified() }

// measureFolder hashes the model's configuration and adds up the sizes of its weights, where a hub's
// cache has links to other folders of the same root.
func measureFolder(root *os.Root, dir string) (folder.Weights, error) {
	hash, err := hashFile(root, path.Join(dir, "config.json"))
	if err != nil {
		return folder.Weights{}, err
	}
	w := folder.Weights{ConfigSHA256: hash}
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return folder.Weights{}, errors.New("the model's folder cannot be read")
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
			return folder.Weights{}, errors.New("the model's folder has too many files")
		}
		w.Bytes += info.Size()
	}
	if w.Files == 0 {
		return folder.Weights{}, errors.New("the model's folder has no files of weights that are known as such")
	}
	return w, nil
}

// hashFile hashes a regular file of bounded size. It is looked at before it is opened: a pipe of that
// name would never open.
func hashFile(root *os.Root, name string) (string, error) {
	unusable := errors.New("the model's folder has no usable config.json")
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > longestConfig {
		return "", unusable
	}
	file, err := root.Open(name)
	if err != nil {
		return "", unusable
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(file, longestConfig)); err != nil {
		return "", unusable
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
