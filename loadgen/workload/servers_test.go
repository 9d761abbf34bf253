package workload

import (
	"io"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// jobsOn returns the jobs of the measured phase of a load that so many servers share, and the hash of its workload.
func jobsOn(t *testing.T, servers int, args ...string) (jobs []Job, hash string) {
	t.Helper()
	s, err := given(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Write(Server{Model: "m", Vendor: server.VendorOf(supported.Engines(), "vllm"), Servers: servers})
	if err != nil {
		t.Fatal(err)
	}
	hash, _ = plan(t, w)
	for _, p := range w.Phases {
		for _, queue := range w.Prepare(t.Context(), p, io.Discard) {
			for j := range queue.jobs {
				if p.Name == rundir.PhaseMeasure {
					jobs = append(jobs, j)
				}
			}
		}
	}
	return jobs, hash
}

func TestServersTakeTurnsInTheOrderOfTheSchedule(t *testing.T) {
	for _, args := range [][]string{{"--requests=7"}, {"--requests=7", "--arrival=poisson", "--rate=5"}} {
		jobs, _ := jobsOn(t, 3, args...)
		if len(jobs) != 7 {
			t.Fatalf("%d requests", len(jobs))
		}
		for i, j := range jobs {
			if j.Index != i || j.Server != i%3 {
				t.Errorf("%v: request %d goes to server %d", args, j.Index, j.Server)
			}
		}
	}
}

func TestTheTurnsOfAConversationGoToOneServer(t *testing.T) {
	jobs, _ := jobsOn(t, 3, "--scenario=multi_turn", "--clients=2", "--active-conversations=4", "--max-turns=3", "--requests=60")
	server, used := map[string]int{}, map[int]int{}
	for _, j := range jobs {
		if on, known := server[j.Conversation]; known && on != j.Server {
			t.Errorf("turn %d of conversation %s goes to server %d, an earlier one to %d", j.Turn, j.Conversation, j.Server, on)
		}
		server[j.Conversation] = j.Server
		used[j.Server]++
	}
	if used[0]+used[1]+used[2] != 60 || min(used[0], used[1], used[2]) < 15 {
		t.Errorf("requests by server: %v", used)
	}
}

func TestTheNumberOfServersDoesNotChangeTheWorkload(t *testing.T) {
	one, hash := jobsOn(t, 0, "--requests=8")
	two, other := jobsOn(t, 2, "--requests=8")
	if hash != other {
		t.Error("the hash of the workload depends on the number of servers")
	}
	for i := range one {
		if one[i].PromptSHA256 != two[i].PromptSHA256 || one[i].Server != 0 {
			t.Errorf("request %d is another, or goes to server %d of one", i, one[i].Server)
		}
	}
}
