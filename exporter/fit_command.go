package exporter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/fit"
	"github.com/umascope/umascope/exporter/hostfs"
)

// modelDType is the type of the KV cache that the files of the model ask for.
const modelDType = "auto"

// mostModelFiles is the maximum number of files of a model's folder.
const mostModelFiles = 10_000

// fitFlags are the flags of fit.
type fitFlags struct {
	model, kvType string
	reserveGiB    float64 // negative for the default
	gpu           int     // negative for the one with most memory
	engines       spec.Engines
}

// fitFlagNames are those of its flags that say nothing about how the host is read.
func fitFlagNames() []string { return []string{"model", "kv-cache-dtype", "reserve", "gpu"} }

func (l *commandLine) defineFit(c *kingpin.CmdClause) {
	types := []string{modelDType}
	for _, one := range fit.ValueTypes() {
		types = append(types, one.Name)
	}
	c.Flag("model", "Folder of a model, or its GGUF file: also compute its KV cache.").PlaceHolder("PATH").StringVar(&l.fits.model)
	terminal.Flag(c, "kv-cache-dtype", "Type of the KV cache: "+terminal.Join(types)+".", modelDType, &l.fits.kvType, terminal.OneOf(types...)).HintOptions(types...)
	l.fits.reserveGiB, l.fits.gpu = -1, -1
	terminal.Flag(c, "reserve", "Memory to leave to the system, in GiB.", "", &l.fits.reserveGiB, terminal.NumberWithin(0, 1024)).PlaceHolder("GIB")
	terminal.Flag(c, "gpu", "Index of the GPU; without it, the one with most memory to give.", "", &l.fits.gpu, terminal.AtLeast(0)).PlaceHolder("INDEX")
	l.defineAsked(c)
	l.defineHost(c)
}

// fit prints what an engine can be given. Like explain it succeeds if sources are missing.
func (l *commandLine) fit(ctx context.Context, stdout io.Writer) error {
	model, err := readModel(l.fits.model, l.fits.kvType)
	if err != nil {
		return err
	}
	source, err := l.explanations()
	if err != nil {
		return err
	}
	defer source.close()
	x, err := source.next(ctx)
	if err != nil {
		return err
	}
	if x.Mode == collector.Live {
		l.nameContainers(ctx, &x)
	}
	l.fits.engines = l.known
	report, err := newFitReport(&x, model, l.fits)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if l.asJSON {
		encoder := json.NewEncoder(&out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(report); err != nil {
			return err
		}
	} else {
		report.print(&out)
	}
	_, err = stdout.Write(out.Bytes())
	return err
}

// Fit prints what an engine can be given of this host's GPU, with the model in a folder if there is one.
func (e *Exporter) Fit(ctx context.Context, w io.Writer, model string) error {
	read, err := readModel(model, modelDType)
	if err != nil {
		return err
	}
	x, err := e.explanation(ctx)
	if err != nil {
		return err
	}
	report, err := newFitReport(&x, read, fitFlags{reserveGiB: -1, gpu: -1, engines: e.settings.Options.Sources.Known})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	report.print(&out)
	_, err = w.Write(out.Bytes())
	return err
}

// readModel reads the model at a path, nil if there is none.
func readModel(path, kvType string) (*fitModel, error) {
	if path == "" {
		if kvType != modelDType {
			return nil, badInput("--kv-cache-dtype: is about a model: give --model too")
		}
		return nil, nil
	}
	names, folder, err := modelFiles(path)
	if err == nil {
		open := func(name string) (fs.File, error) { return hostfs.OpenRegular(filepath.Join(folder, name)) }
		var model fit.Model
		if model, err = fit.ReadModel(names, open); err == nil {
			return named(path, model, kvType), nil
		}
	}
	return nil, badInput("--model %s: %w", path, reason(err))
}

// named is the model with the KV cache that is asked for.
func named(path string, model fit.Model, kvType string) *fitModel {
	for _, one := range fit.ValueTypes() {
		if one.Name == kvType {
			model.Value = one
		}
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	m := &fitModel{Name: strings.TrimSuffix(filepath.Base(path), ".gguf"), Model: model, TokenBytes: model.TokenBytes()}
	if m.TokenBytes > 0 {
		m.Formula = model.Formula()
	}
	return m
}

// modelFiles lists the files of a folder, or a GGUF file with its other parts.
func modelFiles(path string) (names []string, folder string, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) { // a name at Hugging Face, for instance
		return nil, "", fmt.Errorf("%w: want a folder of this machine with a model's weights, or a GGUF file", reason(err))
	}
	if err != nil {
		return nil, "", err
	}
	only := ""
	folder = path
	if !info.IsDir() {
		if !strings.HasSuffix(path, ".gguf") {
			return nil, "", fmt.Errorf("is neither a folder nor a .gguf file")
		}
		folder, only = filepath.Dir(path), filepath.Base(path)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, "", err
	}
	if len(entries) > mostModelFiles {
		return nil, "", fmt.Errorf("has %d files: it is no folder of one model", len(entries))
	}
	for _, entry := range entries {
		if only == "" || fit.SameGGUF(only, entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, folder, nil
}
