package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/cuda"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

const (
	// desktopBytes is the least that a graphics process holds to count as more than a desktop, whose processes the driver
	// lists on every machine with a screen.
	desktopBytes = 512 << 20
	// spareBytes must be free: the buffer, CUDA's context (half a GiB on an H200), and as much again for the machine.
	spareBytes = 2 << 30
)

// doctorBandwidth measures the memory of idle GPUs.
func (l *commandLine) doctorBandwidth(ctx context.Context, stdout io.Writer) error {
	opened, err := l.openHost(false)
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, l.collectTimeout)
	defer cancel()
	refusal := bandwidthRefusal(asked, opened.Host)
	if err := opened.close(); err != nil {
		return err
	}
	if refusal != nil {
		return badInput("--memory-bandwidth: %w", refusal)
	}
	devices, err := cuda.Measure(ctx)
	switch {
	case errors.Is(err, cuda.ErrUnavailable):
		return badInput("--memory-bandwidth: %w", err)
	case err != nil:
		return fmt.Errorf("--memory-bandwidth: %w", err)
	}
	return printBandwidth(stdout, devices)
}

// bandwidthRefusal returns why memory is not measured: an engine would be slowed, and would make the figure too low.
func bandwidthRefusal(ctx context.Context, host collector.Host) error {
	if host.Mode != collector.Live {
		return errors.New("memory is measured on a machine, not in a recording")
	}
	devices, err := host.GPU.Read(ctx).Processes(ctx)
	if err != nil {
		return err
	}
	if len(devices) == 0 {
		return errors.New("the driver lists no GPU")
	}
	for _, d := range devices {
		if err := busyGPU(host, d); err != nil {
			return fmt.Errorf("GPU %d (%s): %w", d.Index, printable(d.Name), err)
		}
	}
	if whole, err := hostfs.HostPIDNamespace(host.Proc); err != nil || !whole {
		return errors.New("processes of other PID namespaces are not seen here, so an engine may be running: measure on the host, or in a container with its PID namespace (docker run --pid=host)")
	}
	return nil
}

func busyGPU(host collector.Host, d nvml.Device) error {
	if d.MIGEnabled != nil && *d.MIGEnabled {
		return errors.New("it is partitioned (MIG), and a part has a share of the bandwidth")
	}
	if !d.ProcessesRead {
		return errors.New("the driver does not list the processes that hold its memory")
	}
	for _, p := range d.Processes {
		if p.Graphics && p.UsedBytes != nil && *p.UsedBytes < desktopBytes {
			continue
		}
		name, err := hostfs.Comm(host.Proc, p.PID)
		if err != nil {
			name = "of unknown name"
		}
		holds := "GPU memory"
		if p.UsedBytes != nil {
			holds = fmt.Sprintf("%.1f GiB of GPU memory", float64(*p.UsedBytes)/(1<<30))
		}
		return fmt.Errorf("process %d (%s) holds %s: stop it first, since one would slow the other", p.PID, printable(name), holds)
	}
	free, of := d.MemoryFreeBytes, "is free"
	if free == nil {
		meminfo, err := hostfs.ReadMeminfo(host.Proc)
		if err != nil {
			return err
		}
		can := collector.NewAllocatable(int64(meminfo["MemTotal"]), int64(meminfo["MemFree"]), int64(meminfo["CmaFree"]), int64(meminfo["MemAvailable"]))
		free, of = new(float64(can.UpTo)), "can be allocated of the pool"
	}
	if *free < spareBytes {
		return fmt.Errorf("%s %s, less than %s", metric.BinaryBytes(*free), of, metric.BinaryBytes(spareBytes))
	}
	return nil
}

// printBandwidth prints a paragraph for each GPU.
func printBandwidth(w io.Writer, devices []cuda.Device) error {
	for i, d := range devices {
		bandwidth, err := d.Bandwidth()
		if err != nil {
			return fmt.Errorf("--memory-bandwidth: CUDA device %d: %w", i, err)
		}
		const giga = 1e9 // as makers give it
		best, median := bandwidth.Best/giga, bandwidth.Median/giga
		fmt.Fprintf(w, "%s, CUDA device %d\n", printable(d.Name), i)
		fmt.Fprintf(w, "  measured   %.0f GB/s at best, %.0f in the median of %d measures; each is %d copies of %s, bytes read and written\n",
			best, median, len(d.Seconds), cuda.Copies, metric.BinaryBytes(cuda.BufferBytes/2))
		if part, known := metric.FindGPUPart(d.Name); known {
			fmt.Fprintf(w, "  published  %.0f GB/s by NVIDIA; measured is %.0f %% of it\n", part.BytesPerSecond/giga, 100*bandwidth.Best/part.BytesPerSecond)
		} else {
			fmt.Fprintln(w, "  published  not known here")
		}
		fmt.Fprintf(w, "  limit      uma-load report RUN --memory-bandwidth=%.0f\n", best)
		fmt.Fprintln(w, "  note       half of the bytes are writes; what only reads, as decoding mostly does, may be a tenth faster")
	}
	return nil
}
