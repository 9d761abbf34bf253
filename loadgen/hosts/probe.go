package hosts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

const (
	// probeTime is how long an exporter has to answer: it is on the same link.
	probeTime = 2 * time.Second
	// probesTime is the limit for all probes together: a network may announce hundreds of hosts on addresses that drop
	// requests silently.
	probesTime = 20 * time.Second
	// largestPage is larger than any exporter's page.
	largestPage = 8 << 20
	// mostProbes is how many hosts are probed at a time.
	mostProbes = 16
)

// Exporter is the answer at the exporter's default port.
type Exporter struct {
	Found bool       `json:"found"`
	Addr  netip.Addr `json:"address,omitzero"`
	// Mode is the origin of its figures, as it reports it: live, simulated, ...
	Mode string `json:"mode,omitempty"`
	// Why is why no exporter was found: another answer, or none.
	Why string `json:"why,omitempty"`
}

// Probe probes every host for an exporter, and sets the result in place.
func Probe(ctx context.Context, hosts []Host, port int) {
	probeThrough(ctx, &http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}, hosts, port)
}

func probeThrough(ctx context.Context, network http.RoundTripper, hosts []Host, port int) {
	ctx, cancel := context.WithTimeout(ctx, probesTime)
	defer cancel()
	client := &http.Client{
		Transport:     network,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var all sync.WaitGroup
	places := make(chan struct{}, mostProbes)
	for i := range hosts {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if ctx.Err() != nil {
				hosts[i].Exporter = &Exporter{Why: "it was not asked: others that do not answer took all of the time"}
				return
			}
			hosts[i].Exporter = probe(ctx, client, hosts[i].candidates(), port)
		})
	}
	all.Wait()
}

// probe asks at each address until an exporter answers. If none does, the reason is that of the first address, the most
// likely one.
func probe(ctx context.Context, client *http.Client, addresses []Address, port int) *Exporter {
	none := &Exporter{Why: "no address that other programs can use"}
	for i, a := range addresses {
		found := ask(ctx, client, netip.AddrPortFrom(a.Addr, uint16(port)))
		if found.Found {
			found.Addr = a.Addr
			return found
		}
		if i == 0 {
			none = found
		}
	}
	return none
}

// ask reads a page until it identifies an exporter.
func ask(ctx context.Context, client *http.Client, at netip.AddrPort) *Exporter {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at.String()+"/metrics", nil)
	if err != nil {
		return &Exporter{Why: at.String() + ": " + err.Error()}
	}
	response, err := client.Do(request)
	if err != nil {
		return &Exporter{Why: refusal(at, err)}
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return &Exporter{Why: fmt.Sprintf("%s wants a password: Prometheus needs it too", at)}
	case http.StatusBadRequest:
		return &Exporter{Why: fmt.Sprintf("%s answers plain HTTP with status 400, as TLS does: Prometheus needs scheme: https", at)}
	default:
		return &Exporter{Why: fmt.Sprintf("%s answers with status %d", at, response.StatusCode)}
	}
	is, mode := recognise(io.LimitReader(response.Body, largestPage))
	if !is {
		return &Exporter{Why: fmt.Sprintf("%s answers, but it is not an exporter of ours", at)}
	}
	return &Exporter{Found: true, Mode: mode}
}

// recognise reads a page of metrics as far as necessary.
func recognise(page io.Reader) (is bool, mode string) {
	lines := bufio.NewScanner(page)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	build, modes := metric.ExporterBuildInfo.Def().Name+"{", metric.ExporterMode.Def().Name+"{"
	for lines.Scan() {
		line := lines.Text()
		is = is || strings.HasPrefix(line, build)
		if rest, found := strings.CutPrefix(line, modes); found && strings.HasSuffix(strings.TrimSpace(line), " 1") {
			mode = modeOf(rest)
		}
		if is && mode != "" {
			break
		}
	}
	return is, mode
}

// modeOf reads the value of the label mode, such as of
//
//	mode="live"} 1
//
// A mode that is not a plain word is ignored.
func modeOf(labels string) string {
	_, rest, found := strings.Cut(labels, string(metric.LabelMode)+`="`)
	word, _, ends := strings.Cut(rest, `"`)
	if !found || !ends || !plainName.MatchString(word) {
		return ""
	}
	return word
}

// refusal returns a short reason for a missing answer, and a fix.
func refusal(at netip.AddrPort, err error) string {
	timeout, is := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s refuses: no exporter runs there, or it listens on loopback, as it does until --web.listen-address=:%s", at, strconv.Itoa(int(at.Port())))
	case is && timeout.Timeout():
		return fmt.Sprintf("%s does not answer: a firewall, or it is busy", at)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Sprintf("%s cannot be reached", at)
	}
	return fmt.Sprintf("%s does not answer as an exporter does", at)
}
