package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

// serving is the timing of the server. All times 0 make an instant one.
type serving struct {
	first, gap time.Duration
	tokens     int
	role       time.Duration // to an event that has only a role; 0: there is none
	end        time.Duration // from the last token to the end of the stream
	hangUp     bool
}

// lasts is how long a stream is open.
func (s serving) lasts() time.Duration { return s.first + time.Duration(s.tokens-1)*s.gap }

// load is the load that a client has to send.
type load struct {
	arrival  string  // constant, poisson or closed
	rate     float64 // arrivals a second, unless closed
	streams  int     // in flight: exactly in a closed loop, about so many otherwise
	warmup   int     // requests before the others, over when those begin
	requests int     // 0, in a closed loop: as many as fit into the time
	ramp     int     // of the requests, the first that are left out: streams are still few then
	tokens   int     // of each answer
}

// duration is how long it takes to send them by the clock.
func (w load) duration() time.Duration {
	return time.Duration(float64(w.warmup+w.requests) / w.rate * float64(time.Second))
}

// client is a load client under measurement.
type client struct {
	name string
	// many reports that it consists of several processes and runs on several cores.
	many bool
	// mean reports that its gaps are means per request.
	mean bool
	// command starts it; its input and output files are in the folder.
	command func(l *lab, url, folder string, w load) ([]string, error)
	// report reads its results.
	report func(folder string) ([]stream, error)
	// fine are the exit codes besides 0 after which it has written a report.
	fine []int
}

func bare() client {
	return client{
		name: "bare reader",
		command: func(l *lab, url, folder string, w load) ([]string, error) {
			return []string{
				l.self, "read", "-url", url, "-rate", number(w.rate), "-warmup", strconv.Itoa(w.warmup),
				"-requests", strconv.Itoa(w.requests), "-tokens", strconv.Itoa(w.tokens), "-out", filepath.Join(folder, reportFile),
			}, nil
		},
		report: readStreams,
	}
}

// reportFile is the file of streams that clients of this program write.
const reportFile = "streams.jsonl"

func readStreams(folder string) ([]stream, error) {
	file, err := os.Open(filepath.Join(folder, reportFile))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return decodeLines[stream](file)
}

func plainVegeta() client {
	return client{
		name: "vegeta",
		command: func(l *lab, url, folder string, w load) ([]string, error) {
			command := []string{l.self, "attack", "-url", url, "-out", filepath.Join(folder, reportFile)}
			if w.arrival == "closed" {
				return append(command, "-workers", strconv.Itoa(w.streams), "-duration", (l.window + 2*time.Second).String()), nil
			}
			return append(command, "-rate", number(w.rate), "-duration", w.duration().String()), nil
		},
		report: readStreams,
	}
}

const (
	exitInvalid = 3
	runName     = "run"
)

// umaLoad is uma-load from the command line; more are further flags. An invalid run is not a failure here: the instant
// server answers in one read, as no engine does.
func umaLoad(name string, more ...string) client {
	return client{
		name: name, fine: []int{exitInvalid},
		command: func(l *lab, url, folder string, w load) ([]string, error) {
			command := []string{
				l.umaLoad, "run", "--url", url, "--out", folder, "--run-id", runName, "--web.listen-address", "127.0.0.1:0",
				"--input-tokens", "8", "--output-tokens", strconv.Itoa(w.tokens),
				"--warmup", strconv.Itoa(w.warmup), "--arrival", w.arrival,
			}
			if w.requests > 0 {
				command = append(command, "--requests", strconv.Itoa(w.requests))
			} else {
				command = append(command, "--duration", (l.window + 2*time.Second).String())
			}
			if w.arrival == "closed" {
				command = append(command, "--concurrency", strconv.Itoa(w.streams))
			} else {
				command = append(command, "--rate", number(w.rate))
			}
			return append(command, more...), nil
		},
		report: readRun,
	}
}

// readRun reads the measured requests of a run of uma-load.
func readRun(folder string) ([]stream, error) {
	file, err := os.Open(filepath.Join(folder, runName, "requests.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	records, err := decodeLines[openai.Record](file)
	if err != nil {
		return nil, err
	}
	var streams []stream
	for _, r := range records {
		if r.Phase != "measure" {
			continue
		}
		if r.Status != openai.StatusOK {
			return nil, fmt.Errorf("request %d: %s: %s", r.Index, r.Status, r.Error)
		}
		streams = append(streams, reportedByUmaLoad(r))
	}
	return streams, nil
}

func reportedByUmaLoad(r openai.Record) stream {
	s := stream{ID: r.ServerRequestID}
	if ttft, known := r.TTFT(openai.FromSend); known {
		s.TTFTMS = milliseconds(int64(ttft))
	}
	for gap := range r.ChunkGaps() {
		s.GapsMS = append(s.GapsMS, milliseconds(int64(gap)))
	}
	if total, known := r.E2E(openai.FromSend); known {
		s.TotalMS = milliseconds(int64(total))
	}
	if lag, known := r.ClientLag(); known {
		s.LagMS = milliseconds(int64(lag))
	}
	return s
}

// samplerShare is the share of a core that the telemetry sampler of a run took, by its manifest.
func samplerShare(folder string) (float64, error) {
	text, err := os.ReadFile(filepath.Join(folder, runName, "manifest.json"))
	if err != nil {
		return 0, err
	}
	var manifest struct {
		StartedAt time.Time `json:"started_at"`
		EndedAt   time.Time `json:"ended_at"`
		Telemetry *struct {
			CPUSeconds float64 `json:"cpu_seconds"`
		} `json:"telemetry"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&manifest); err != nil {
		return 0, err
	}
	if manifest.Telemetry == nil {
		return 0, fmt.Errorf("%s: no telemetry in the manifest", folder)
	}
	return manifest.Telemetry.CPUSeconds / manifest.EndedAt.Sub(manifest.StartedAt).Seconds(), nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
