package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// networkSpec is the collector of network ports.
func networkSpec() Spec {
	return Spec{
		Name:    "network",
		Help:    "network interfaces and RoCE ports: bytes, errors, link.",
		Metrics: networkMetrics(),
		Needs: []Need{{
			Name: "host_network",
			Cost: "no network interface that is hardware is to be seen: those of the machine are left out",
			Fix:  "in a container mount the host's /sys (docker run -v /sys:/host/sys:ro) and pass --path.sysfs=/host/sys, or use docker run --network=host",
			Met:  func(host Host) bool { return hostfs.HasNetworkHardware(host.Sys) },
		}},
		Open: func(host Host, _ Options) Collect {
			return func(_ context.Context, _ *Sample, batch *Batch) error { return collectNetwork(host, batch) }
		},
	}
}

func collectNetwork(host Host, batch *Batch) error {
	interfaces, interfaceErr := hostfs.ReadNetworkInterfaces(host.Sys)
	ports, portErr := hostfs.ReadInfiniBandPorts(host.Sys)
	for _, one := range interfaces {
		emitInterface(batch, one)
	}
	for _, port := range ports {
		emitPort(batch, port)
	}
	err := errors.Join(unlessMissing(interfaceErr), unlessMissing(portErr))
	if err == nil && len(interfaces)+len(ports) == 0 {
		return fmt.Errorf("%w: no network hardware, or none in this network namespace", ErrAbsent)
	}
	return err
}

func emitInterface(batch *Batch, n hostfs.NetworkInterface) {
	for _, row := range []struct {
		metric metric.Counter
		value  *uint64
	}{
		{metric.NetworkReceiveBytesTotal, n.Receive.Bytes}, {metric.NetworkTransmitBytesTotal, n.Transmit.Bytes},
		{metric.NetworkReceiveErrorsTotal, n.Receive.Errors}, {metric.NetworkTransmitErrorsTotal, n.Transmit.Errors},
		{metric.NetworkReceiveDroppedTotal, n.Receive.Dropped}, {metric.NetworkTransmitDroppedTotal, n.Transmit.Dropped},
	} {
		if row.value != nil {
			batch.Counter(row.metric, float64(*row.value), n.Device)
		}
	}
	if n.Up != nil {
		batch.Gauge(metric.NetworkUp, number(*n.Up), n.Device)
	}
	if n.BytesPerSecond != nil {
		batch.Gauge(metric.NetworkSpeedBytesPerSecond, *n.BytesPerSecond, n.Device)
	}
	if n.MTU != nil {
		batch.Gauge(metric.NetworkMTUBytes, float64(*n.MTU), n.Device)
	}
}

func emitPort(batch *Batch, p hostfs.InfiniBandPort) {
	batch.Gauge(metric.InfiniBandPortInfo, 1, p.Device, p.Port, p.Interface)
	if p.ReceivedBytes != nil {
		batch.Counter(metric.InfiniBandPortDataReceivedBytesTotal, float64(*p.ReceivedBytes), p.Device, p.Port)
	}
	if p.TransmittedBytes != nil {
		batch.Counter(metric.InfiniBandPortDataTransmittedBytesTotal, float64(*p.TransmittedBytes), p.Device, p.Port)
	}
	for _, e := range p.Errors {
		batch.Counter(metric.InfiniBandPortErrorsTotal, float64(e.Count), p.Device, p.Port, e.Name)
	}
	if p.Up != nil {
		batch.Gauge(metric.InfiniBandPortUp, number(*p.Up), p.Device, p.Port)
	}
	if p.BytesPerSecond != nil && p.Up != nil && *p.Up { // the driver invents one for a port that is down
		batch.Gauge(metric.InfiniBandPortRateBytesPerSecond, *p.BytesPerSecond, p.Device, p.Port)
	}
}

func networkMetrics() []metric.Definer {
	return []metric.Definer{
		metric.NetworkReceiveBytesTotal, metric.NetworkTransmitBytesTotal, metric.NetworkReceiveErrorsTotal,
		metric.NetworkTransmitErrorsTotal, metric.NetworkReceiveDroppedTotal, metric.NetworkTransmitDroppedTotal,
		metric.NetworkUp, metric.NetworkSpeedBytesPerSecond, metric.NetworkMTUBytes, metric.InfiniBandPortDataReceivedBytesTotal,
		metric.InfiniBandPortDataTransmittedBytesTotal, metric.InfiniBandPortErrorsTotal, metric.InfiniBandPortUp,
		metric.InfiniBandPortRateBytesPerSecond, metric.InfiniBandPortInfo,
	}
}
