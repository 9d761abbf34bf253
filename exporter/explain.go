package exporter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

const (
	watchInterval = 2 * time.Second

	// clearScreen moves to the top left and clears what is below.
	clearScreen = "\x1b[H\x1b[J"
)

// explain prints the explanation once, or again and again until ctx ends. It succeeds even if sources are missing.
func (l *commandLine) explain(ctx context.Context, stdout io.Writer) error {
	if l.lastBoot {
		return l.explainLastBoot(ctx, stdout)
	}
	source, err := l.explanations()
	if err != nil {
		return err
	}
	defer source.close()
	if !l.watch {
		return l.explainOnce(ctx, source, stdout)
	}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		if err := l.explainOnce(ctx, source, stdout); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// explainOnce writes one explanation in one piece, so that a screen does not flicker.
func (l *commandLine) explainOnce(ctx context.Context, source *explanations, stdout io.Writer) error {
	x, err := source.next(ctx)
	if err != nil {
		return err
	}
	if x.Mode == collector.Live {
		l.nameContainers(ctx, &x)
	}
	var out bytes.Buffer
	if l.asJSON {
		if err := x.writeJSON(&out); err != nil {
			return err
		}
	} else {
		if l.watch {
			out.WriteString(clearScreen)
		}
		x.print(&out)
	}
	_, err = stdout.Write(out.Bytes())
	return err
}

// writeJSON writes the explanation as JSON.
func (x *explanation) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(x)
}

// Explain prints where the memory of the host is: one sentence, the ledger as a table, the holders of GPU memory, what
// is charged to their cgroups, what CUDA reports as free and what can be allocated, and which figures are missing.
func (e *Exporter) Explain(ctx context.Context, w io.Writer) error {
	x, err := e.explanation(ctx)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	x.print(&out)
	_, err = w.Write(out.Bytes())
	return err
}

func (e *Exporter) explanation(ctx context.Context) (explanation, error) {
	scrape, err := e.runner.Scrape(ctx)
	if err != nil {
		return explanation{}, err
	}
	return e.explained(scrape), nil
}

// explanations are those of a running exporter, or of the host as this program reads it.
type explanations struct {
	line    *commandLine
	running *runningExporter // nil if none is asked
	note    string           // why none is asked

	own     *Exporter    // nil until it is needed
	release func() error // nil if there is nothing to release
}

// close releases the host, if it was read.
func (s *explanations) close() error {
	if s.release == nil {
		return nil
	}
	return s.release()
}

// explanations chooses where the figures come from. Flags of the host are those of this program, and a running exporter
// has its own.
func (l *commandLine) explanations() (*explanations, error) {
	s := &explanations{line: l}
	flags, err := l.givenHostFlags()
	if err != nil {
		return nil, err
	}
	switch {
	case l.explicitURL && len(flags) > 0:
		return nil, badInput("--url: the exporter there reads its host by its own flags, so --%s cannot be given too", flags[0])
	case len(flags) > 0:
		s.note = "--" + flags[0] + " is given"
	default:
		s.running, err = newRunningExporter(l.exporterURL, l.httpConfig)
	}
	return s, err
}

// next returns what the running exporter answers. If the user has not named it and it does not answer, the host is read.
func (s *explanations) next(ctx context.Context) (explanation, error) {
	note := s.note
	if s.running != nil {
		x, err := s.running.explanation(ctx)
		if err == nil {
			x.setKnown(s.line.known)
			return x, nil
		}
		if s.line.explicitURL || ctx.Err() != nil {
			return explanation{}, fmt.Errorf("--url %w", err)
		}
		note = err.Error()
		if errors.Is(err, errNoExporter) {
			note = "no exporter runs at " + s.running.page.Host
		}
	}
	if s.own == nil {
		var err error
		if s.own, s.release, err = s.line.openForPeople(); err != nil {
			return explanation{}, err
		}
	}
	x, err := s.own.explanation(ctx)
	x.Note = note
	if self, err := s.own.proc.ReadLink("self"); err == nil {
		x.leaveOut(self) // this command ends now
	}
	return x, err
}
