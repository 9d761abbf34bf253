package loadgen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/summary"
)

// limited returns the summary with the limit of memory by --model-file and --memory-bandwidth.
func (l *reportLine) limited(s summary.Summary) (summary.Summary, error) {
	if l.modelFile == "" && l.gigabytesPerSecond == 0 {
		return s, nil
	}
	var model *roofline.Model
	if l.modelFile != "" {
		read, err := readModel(l.modelFile)
		if err != nil {
			return s, usage(fmt.Errorf("--model-file %s: %w", l.modelFile, err))
		}
		model = &read
	}
	return s.WithLimit(model, l.gigabytesPerSecond*1e9), nil
}

// readModel reads what a decode step reads of a model: of a GGUF file, or of a folder with config.json and weights. The
// bytes of a token in the KV cache are the engine's own.
func readModel(path string) (roofline.Model, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return roofline.Model{}, errors.Unwrap(err)
	case info.IsDir():
		return readModelFolder(path)
	case !info.Mode().IsRegular():
		return roofline.Model{}, errors.New("neither a file nor a folder")
	case strings.Contains(filepath.Base(path), "-of-"):
		return roofline.Model{}, errors.New("the file is a part of a model; a model in several GGUF files is not read")
	}
	file, err := os.Open(path)
	if err != nil {
		return roofline.Model{}, err
	}
	defer file.Close()
	read, err := readGGUF(file)
	if err != nil {
		return roofline.Model{}, err
	}
	return read.model(), nil
}

func readModelFolder(dir string) (roofline.Model, error) {
	const longest = 4 << 20
	config := filepath.Join(dir, "config.json")
	if info, err := os.Stat(config); err != nil || !info.Mode().IsRegular() || info.Size() > longest {
		return roofline.Model{}, errors.New("it has no usable config.json")
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return roofline.Model{}, err
	}
	shape, err := roofline.ParseConfig(text)
	if err != nil {
		return roofline.Model{}, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return roofline.Model{}, err
	}
	files := map[string]int64{}
	for _, entry := range entries {
		if info, err := os.Stat(filepath.Join(dir, entry.Name())); err == nil && info.Mode().IsRegular() {
			files[entry.Name()] = info.Size()
		}
	}
	bytes := roofline.WeightBytes(files)
	if bytes == 0 {
		return roofline.Model{}, errors.New("it has no weights (.safetensors, pytorch_model*.bin)")
	}
	return shape.Model(float64(bytes), 0), nil
}
