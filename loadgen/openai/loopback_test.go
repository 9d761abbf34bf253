package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// serveVariable makes the test binary a paced server in its own process, so that the CPU time of the client is separate
// from the server's.
const serveVariable = "UMASCOPE_CHAT_BENCH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) == "" {
		os.Exit(m.Run())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the parent has gone
		os.Exit(0)
	}()
	for {
		conn, err := listener.Accept()
		if err != nil {
			os.Exit(1)
		}
		go servePaced(conn)
	}
}

// pace is the time between two events of one stream: 20 tokens a second.
const pace = 50 * time.Millisecond

// servePaced plays the pieces of the in-memory benchmark, one write every pace.
func servePaced(conn net.Conn) {
	defer conn.Close()
	pieces, reader := answerPieces(), bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		ticker := time.NewTicker(pace)
		for _, piece := range pieces {
			if _, err := conn.Write(piece); err != nil {
				return
			}
			<-ticker.C
		}
		ticker.Stop()
	}
}

// startPacedServer returns the address of a server that ends with the benchmark.
func startPacedServer(b *testing.B) string {
	b.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serveVariable+"=1")
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		input.Close()
		_ = command.Wait() // ended by us
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// BenchmarkEventOverLoopback is the CPU time that the client process, kernel included, spends on one
// event when 1,000 streams of 20 tokens a second come in over TCP: read and kept by a bare reader, read
// by this client, and decoded and written down by it too. One operation is a round of all streams by each
// of the three; figures are medians over the rounds, the ratio with its least and most. GOMAXPROCS=1 is a
// client on one core:
//
//	go test -run '^$' -bench EventOverLoopback -benchtime 5x -cpu 1 ./loadgen/openai
func BenchmarkEventOverLoopback(b *testing.B) {
	const streams = 1000
	c, err := New(Options{BaseURL: "http://" + startPacedServer(b), Connections: streams})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	// The bare reader has connections of net/http's own, whose packets are not stamped.
	all := readers(&http.Transport{ReadBufferSize: readBufferBytes, MaxIdleConnsPerHost: streams, DisableCompression: true})
	clock := since(time.Now())
	receiveRound(b, c, clock, all[0], streams) // opens the connections
	receiveRound(b, c, clock, all[1], streams)
	costs := map[string][]float64{}
	var ratios []float64
	for b.Loop() {
		for _, reader := range all {
			before := processCPU(b)
			receiveRound(b, c, clock, reader, streams)
			spent := processCPU(b) - before
			costs[reader.name] = append(costs[reader.name], float64(spent.Nanoseconds())/(streams*eventsPerStream))
		}
		round := len(ratios)
		ratios = append(ratios, costs["all"][round]/costs["bare"][round])
	}
	for name, all := range costs {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name+"-ns/event")
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(ratios[0], "least-ratio")
	b.ReportMetric(ratios[len(ratios)-1], "most-ratio")
}

// receiveRound receives all streams once. They begin one after the other within a pace: in step, all of
// them would have their events in the same millisecond.
func receiveRound(b *testing.B, c *Client, clock Clock, reader reader, streams int) {
	b.Helper()
	var wait sync.WaitGroup
	for i := range streams {
		wait.Go(func() {
			time.Sleep(pace * time.Duration(i) / time.Duration(streams))
			if err := reader.receive(c, clock); err != nil {
				b.Error(err)
			}
		})
	}
	wait.Wait()
}

// processCPU is the user and system time of this process so far.
func processCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
