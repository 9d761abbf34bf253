// Grafana is NOT Grafana. It replaces its image where that cannot be pulled: it reads the provisioning files, the
// secret and the dashboards at the paths and as the user of Grafana, keeps data where Grafana does, reports its health,
// and sends every query of every dashboard to the datasource as Grafana would. It draws nothing.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in of Grafana:", err)
		os.Exit(1)
	}
}

// run serves until a signal.
func run(ctx context.Context) error {
	instance, err := start(filepath.Clean(os.Getenv("GF_PATHS_PROVISIONING")), filepath.Clean(os.Getenv("GF_PATHS_DATA")))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]string{"database": "ok"}) })
	mux.HandleFunc("GET /stand-in/data", func(w http.ResponseWriter, _ *http.Request) { answer(w, shown{Starts: instance.starts}) })
	mux.HandleFunc("POST /stand-in/ask", func(w http.ResponseWriter, r *http.Request) { answer(w, instance.ask(r.Context(), time.Now())) })
	server := &http.Server{Addr: ":3000", Handler: mux, ReadHeaderTimeout: time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	fmt.Printf("This is not Grafana. It is a stand-in that reads its files and asks its queries. Dashboards: %d; start %d on these data.\n",
		len(instance.dashboards), instance.starts)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return server.Close()
	}
}

func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what) // an error means that the client has gone
}

// shown has the files that were read and the queries that were sent.
type shown struct {
	User, Datasource                       string
	Dashboards, Variables, Queries, Filled int
	Starts                                 int
	Empty                                  map[string]int // queries without data, by dashboard
	Problems                               []string
}

// user is that of the process.
func user() string { return strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid()) }
