package exporter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/recorder"
)

const lastBootFlag = "last-boot"

// explainLastBoot prints how the previous boot ended.
func (l *commandLine) explainLastBoot(ctx context.Context, stdout io.Writer) error {
	if err := l.checkLastBootFlags(); err != nil {
		return err
	}
	report, err := l.lastBootReport(ctx)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if l.asJSON {
		err = writeReport(&out, report)
	} else {
		printReport(&out, report)
	}
	if err == nil {
		_, err = stdout.Write(out.Bytes())
	}
	return err
}

func writeReport(w io.Writer, report recorder.Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(report)
}

// checkLastBootFlags refuses flags that have no effect with --last-boot.
func (l *commandLine) checkLastBootFlags() error {
	context, err := l.app.ParseContext(l.args)
	if err != nil {
		return err
	}
	of := []string{lastBootFlag, recorderFolderFlag, "url", "json", httpConfigFlag, "log.level", "log.format"}
	for _, element := range context.Elements {
		if flag, is := element.Clause.(*kingpin.FlagClause); is && !slices.Contains(of, flag.Model().Name) {
			return badInput("--%s: has no meaning with --%s, which is about the past", flag.Model().Name, lastBootFlag)
		}
	}
	return nil
}

// lastBootReport reads the ring of this machine, or asks the exporter that --url names.
func (l *commandLine) lastBootReport(ctx context.Context) (recorder.Report, error) {
	if l.explicitURL {
		running, err := newRunningExporter(l.exporterURL, l.httpConfig)
		if err != nil {
			return recorder.Report{}, err
		}
		report, err := running.lastBoot(ctx)
		if err != nil {
			return recorder.Report{}, fmt.Errorf("--url %w", err)
		}
		return report, nil
	}
	report, err := readLastBoot(l.recorderFolder, usualMounts().live())
	if err != nil {
		return recorder.Report{}, badInput("--%s: %s: %w", lastBootFlag, l.recorderFolder, err)
	}
	return report, nil
}

// printReport writes a report as a page.
func printReport(out io.Writer, report recorder.Report) {
	if report.Boot == nil {
		fmt.Fprintln(out, "There is no record of an earlier boot.")
	} else {
		printEnding(out, *report.Boot)
		printMinute(out, report.Boot.Records)
	}
	if report.Boot == nil && len(report.Here) > 0 {
		printMinute(out, report.Here[0].Records)
	}
	for i, ending := range report.Here {
		if i == 0 {
			fmt.Fprintln(out, "\nRecorders before the present one in this boot, the latest first")
		}
		fmt.Fprintf(out, "  %s  pid %d  %s: %s\n", utc(ending.LastUnixMS), ending.PID, ending.Certainty, printable(ending.Summary))
		for _, evidence := range ending.Evidence {
			fmt.Fprintf(out, "    %s\n", printable(evidence))
		}
	}
	for i, note := range report.Notes {
		if i == 0 {
			fmt.Fprintln(out, "\nAbout the records")
		}
		fmt.Fprintf(out, "  %s\n", printable(note))
	}
}

func utc(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z") }

func printEnding(out io.Writer, ending recorder.Ending) {
	fmt.Fprintf(out, "%s\n%s: %s; last record %s\n\nEvidence\n", printable(ending.Summary), ending.Certainty, ending.End, utc(ending.LastUnixMS))
	for _, evidence := range ending.Evidence {
		fmt.Fprintf(out, "  %s\n", printable(evidence))
	}
}

// printMinute shows the last minute: every fifth second, and each of the last ten.
func printMinute(out io.Writer, records []recorder.Record) {
	records = slices.DeleteFunc(slices.Clone(records), func(r recorder.Record) bool { return r.Sample == nil })
	if len(records) == 0 {
		return
	}
	end := records[len(records)-1].MonotonicMS
	fmt.Fprintf(out, "\nThe last minute, GiB\n  %6s %9s %9s %9s %7s %6s %5s %6s %5s %5s  %s\n",
		"second", "available", "occupied", "GPU-held", "memory", "io", "GPU", "MHz", "W", "C", "KV")
	const each, last = 5, 10
	shown := int64(-each)
	for i, r := range records {
		before := (end - r.MonotonicMS + 500) / 1000
		if before > last && r.MonotonicMS/1000-shown < each {
			continue
		}
		shown = r.MonotonicMS / 1000
		var previous *recorder.Record
		if i > 0 {
			previous = &records[i-1]
		}
		fmt.Fprintf(out, "  %6d %s\n", -before, minuteRow(*r.Sample, previous, r))
	}
	fmt.Fprintln(out, "  memory, io: share of the second in which all tasks that could run waited for it")
	printLast(out, *records[len(records)-1].Sample)
	printKernel(out, records, end)
}

func minuteRow(s recorder.Sample, previous *recorder.Record, now recorder.Record) string {
	available, occupied, held := "unknown", "unknown", "unknown"
	if m := s.Memory; m != nil {
		available = gibOr(m.Available)
		if m.Free != nil {
			occupied = gib(m.Pool - min(m.Pool, *m.Free))
		}
		if bytes, there := m.Lines[ledger.GPUProcess]; there {
			held = gib(bytes)
		}
	}
	var g recorder.GPU
	if len(s.GPUs) > 0 {
		g = s.GPUs[0]
	}
	if held == "unknown" && g.HeldBytes != nil {
		held = gib(*g.HeldBytes)
	}
	kv := "-"
	if len(s.Engines) > 0 {
		kv = percentOr(s.Engines[0].KVRatio)
	}
	return fmt.Sprintf("%9s %9s %9s %7s %6s %5s %6s %5s %5s  %s", available, occupied, held,
		stalled("memory", previous, now), stalled("io", previous, now), percentOr(g.Utilization), scaled(g.ClockHertz, 1e6), scaled(g.Watts, 1), scaled(g.Celsius, 1), kv)
}

// stalled is the share of the time since the previous sample in which all tasks waited for a resource.
func stalled(resource string, previous *recorder.Record, now recorder.Record) string {
	if previous == nil || previous.Boot != now.Boot || now.MonotonicMS <= previous.MonotonicMS {
		return "-"
	}
	before, after := previous.Sample.Pressure[resource].Full, now.Sample.Pressure[resource].Full
	if before == nil || after == nil || *after < *before {
		return "-"
	}
	share := min(1, (*after-*before)*1000/float64(now.MonotonicMS-previous.MonotonicMS))
	return percentOr(&share)
}

func percentOr(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100**ratio)
}

func scaled(value *float64, by float64) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f", *value/by)
}

// printLast shows the last sample: ledger, holders, cgroups, engines, reasons of the GPUs' clocks.
func printLast(out io.Writer, s recorder.Sample) {
	if m := s.Memory; m != nil {
		fmt.Fprintf(out, "\nThe last sample: where the pool of %s GiB was\n", gib(m.Pool))
		var parts []string
		for _, line := range ledger.Kinds() {
			if bytes, there := m.Lines[line.Name]; there {
				parts = append(parts, fmt.Sprintf("%s %s", line.Title, gib(bytes)))
			}
		}
		for row := range slices.Chunk(parts, 6) {
			fmt.Fprintf(out, "  %s\n", strings.Join(row, ", "))
		}
	}
	for _, h := range s.Holders {
		fmt.Fprintf(out, "  %9s GiB of GPU %d held by %s (pid %d)\n", gibOr(h.Bytes), h.GPU, printable(h.Comm), h.PID)
	}
	for _, g := range s.Groups {
		fmt.Fprintf(out, "  %9s GiB charged to %s\n", gib(g.Bytes), printable(g.Cgroup))
	}
	for _, e := range s.Engines {
		fmt.Fprintf(out, "  %9s of the KV cache of %s at %s\n", percentOr(e.KVRatio), printable(e.Model), printable(e.Source))
	}
	for _, g := range s.GPUs {
		if len(g.Reasons) > 0 {
			fmt.Fprintf(out, "  GPU %d: clock held by %s\n", g.Index, printable(strings.Join(g.Reasons, ", ")))
		}
	}
	if len(s.Missing) > 0 {
		fmt.Fprintf(out, "  not read: %s\n", printable(strings.Join(s.Missing, ", ")))
	}
}

func printKernel(out io.Writer, records []recorder.Record, end int64) {
	title := "\nLines of the kernel\n"
	for _, r := range records {
		for _, line := range r.Sample.Kernel {
			fmt.Fprintf(out, "%s  %6.1f  %s\n", title, float64(line.MonotonicMS-end)/1000, printable(line.Text))
			title = ""
		}
	}
}

// lastBoot asks a running exporter.
func (r *runningExporter) lastBoot(ctx context.Context) (recorder.Report, error) {
	page := *r.page
	if page.Path == explainPath {
		page.Path = lastBootJSONPath
	}
	asked := &runningExporter{&page, r.client}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	var report recorder.Report
	body, err := asked.body(ctx)
	if err == nil {
		err = json.Unmarshal(body, &report)
		if err == nil && report.Schema != recorder.ReportSchema {
			err = errors.New("the answer is not one of this uma-exporter")
		}
	}
	if err != nil {
		return recorder.Report{}, fmt.Errorf("%s: %w", asked.address(), err)
	}
	return report, nil
}
