package fit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of what is read into memory.
const (
	mostConfig = 4 << 20
	mostIndex  = 64 << 20
)

// Open opens a regular file of a model by its name, without waiting for pipes and the like.
type Open func(name string) (fs.File, error)

// ReadModel reads a folder with a model in the form of Hugging Face, or with one GGUF file. Names are those of its files.
// An error is one line that begins with the name of the file at fault.
func ReadModel(names []string, open Open) (Model, error) {
	slices.Sort(names)
	var m Model
	gguf := ending(names, ".gguf")
	switch shards, err := safetensors(names, open); {
	case err != nil:
		return Model{}, err
	case len(shards) > 0:
		if err := m.addWeights("safetensors", shards, open, safetensorsBytes); err != nil {
			return Model{}, err
		}
	case len(gguf) > 0:
		return readGGUFModel(gguf, open)
	default:
		torch := slices.DeleteFunc(ending(names, ".bin"), func(name string) bool { return !strings.HasPrefix(name, "pytorch_model") })
		if len(torch) == 0 {
			return Model{}, errors.New("has no weights: no .safetensors, .gguf or pytorch_model*.bin")
		}
		if err := m.addWeights("PyTorch", torch, open, func(_ io.Reader, size int64) (int64, error) { return size, nil }); err != nil {
			return Model{}, err
		}
	}
	if !slices.Contains(names, "config.json") {
		m.Unknown = errShape.Error() + ": there is no config.json"
		return m, nil
	}
	config, err := readWhole("config.json", mostConfig, open)
	if err != nil {
		return Model{}, err
	}
	return m, m.ParseConfig(config)
}

// addWeights adds up the tensors of files.
func (m *Model) addWeights(format string, names []string, open Open, size func(io.Reader, int64) (int64, error)) error {
	m.Format, m.Files = format, len(names)
	for _, name := range names {
		bytes, err := within(name, open, size)
		if err != nil {
			return err
		}
		m.WeightBytes += bytes
	}
	return nil
}

// within opens a file and reads from it. The error begins with its name.
func within[T any](name string, open Open, read func(io.Reader, int64) (T, error)) (T, error) {
	var none T
	file, err := open(name)
	if err != nil {
		return none, named(name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return none, named(name, err)
	}
	found, err := read(file, info.Size())
	if err != nil {
		return none, named(name, err)
	}
	return found, nil
}

// named puts the name of a file before an error, which may have its path.
func named(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func readWhole(name string, most int64, open Open) ([]byte, error) {
	return within(name, open, func(r io.Reader, size int64) ([]byte, error) {
		if size > most {
			return nil, fmt.Errorf("is longer than %d MiB", most>>20)
		}
		return io.ReadAll(io.LimitReader(r, most))
	})
}

// safetensors are the files that have the weights once: those of the index, or the only one, or all. Folders may have them
// a second time, under names of the maker's own.
func safetensors(names []string, open Open) ([]string, error) {
	const index = "model.safetensors.index.json"
	if !slices.Contains(names, index) {
		if slices.Contains(names, "model.safetensors") {
			return []string{"model.safetensors"}, nil
		}
		return ending(names, ".safetensors"), nil
	}
	data, err := readWhole(index, mostIndex, open)
	if err != nil {
		return nil, err
	}
	var list struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list.Files) == 0 {
		return nil, fmt.Errorf("%s: is no index of safetensors", index)
	}
	var files []string
	for _, name := range list.Files {
		if !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	for _, name := range files {
		if path.Base(name) != name || !slices.Contains(names, name) {
			return nil, fmt.Errorf("%.80q, which %s lists, is not there: the model was not copied whole", name, index)
		}
	}
	return files, nil
}

func ending(names []string, suffix string) []string {
	var found []string
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			found = append(found, name)
		}
	}
	return found
}

// partOfGGUF matches the end of the name of one of several files.
func partOfGGUF() *regexp.Regexp { return regexp.MustCompile(`-\d{5}-of-(\d{5})\.gguf$`) }

// wholeGGUF is a name that all files of a model have in common.
func wholeGGUF(name string) string { return partOfGGUF().ReplaceAllString(name, "-of-$1") }

// SameGGUF reports whether two files are of one model.
func SameGGUF(a, b string) bool { return wholeGGUF(a) == wholeGGUF(b) }

// readGGUFModel reads one model, which can be in several files: name-00001-of-00003.gguf and so on. Projectors for images
// beside it are not counted.
func readGGUFModel(names []string, open Open) (Model, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "mmproj") })
	models := map[string]bool{}
	for _, name := range names {
		models[wholeGGUF(name)] = true
	}
	if len(models) != 1 {
		return Model{}, fmt.Errorf("has %d GGUF models: name the file of one of them", len(models))
	}
	if of := partOfGGUF().FindStringSubmatch(names[0]); of != nil && fmt.Sprintf("%05d", len(names)) != of[1] {
		return Model{}, fmt.Errorf("%s: %d of its parts are there: the model was not copied whole", names[0], len(names))
	}
	m := Model{Format: "GGUF", Files: len(names)}
	for i, name := range names {
		file, err := within(name, open, readGGUF)
		if err != nil {
			return Model{}, err
		}
		m.WeightBytes += file.tensorBytes
		if i == 0 {
			file.describe(&m)
		}
	}
	return m, nil
}
