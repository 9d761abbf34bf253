package demo

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/dashboards/grafana"
	"github.com/umascope/umascope/loadgen/render"
)

// listenAddress is the flag for the address of a demo that is kept open.
const listenAddress = "web.listen-address"

// listenOpen opens the address of --serve: the one of the flag, or the default one or a port near it.
func (s *showing) listenOpen() (err error) {
	if !s.options.serve {
		return nil
	}
	if s.open, err = listen(listenAddress, s.options.listen, !s.options.explicit); err != nil {
		return err
	}
	if s.open.at != s.options.listen && !s.options.explicit {
		fmt.Fprintf(s.program.Stderr, "uma-demo: warning: %s is in use, listening on %s instead\n", s.options.listen, s.open.at)
	}
	return nil
}

// keepOpen serves the demo from its first second on: an index, the report once it is written, all files, and the
// dashboards over the machines' clocks.
func (s *showing) keepOpen() error {
	handler, err := s.openHandler(s.open.at)
	if err == nil {
		s.servers.serve(s.open, handler)
	}
	return err
}

func (s *showing) openHandler(at string) (http.Handler, error) {
	drawn, err := s.dashboards(at)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		var page bytes.Buffer
		if err := render.HTML(&page, s.index()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Refresh", "5") // seconds
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		_, _ = w.Write(page.Bytes()) // an error means that the client has gone
	})
	name := filepath.Base(s.folder)
	files := http.FileServer(http.Dir(s.folder))
	mux.HandleFunc("GET /"+reportName, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, filepath.Join(s.out, reportName)) })
	mux.Handle("GET /"+name+"/", http.StripPrefix("/"+name, files)) // the links of the report lead there
	mux.Handle("GET /files/", http.RedirectHandler("/"+name+"/", http.StatusFound))
	mux.Handle("/prometheus/", http.StripPrefix("/prometheus", s.timeline.Handler()))
	for _, path := range []string{"GET /d/", "GET /render/", "GET /assets/"} {
		mux.Handle(path, drawn)
	}
	mux.Handle("GET /dashboards/{$}", http.StripPrefix("/dashboards", drawn))
	return mux, nil
}

// dashboards returns the generated dashboards, drawn from the timeline.
func (s *showing) dashboards(at string) (http.Handler, error) {
	folder := filepath.Join(s.folder, "dashboards")
	files, err := dashboards.Files()
	if err == nil {
		err = os.Mkdir(folder, 0o755)
	}
	for _, file := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file.Name), file.Content, 0o644)
		}
	}
	if err != nil {
		return nil, err
	}
	return grafana.NewPreview(grafana.PreviewConfig{
		Dashboards: os.DirFS(folder), Prometheus: "http://" + at + "/prometheus", Scrape: paceOf(s.options).rhythm.scraped, Now: s.timeline.Newest,
	})
}

// index returns the page that leads to all that is open.
func (s *showing) index() render.Document {
	d := render.Document{Title: "umascope demo, simulated"}
	d.Add(render.Notice(render.Note, render.Strong("All of it is simulated: no figure is of a real machine."),
		render.Plain(fmt.Sprintf(" Clocks of the machines run %g times as fast as the one on the wall; theirs show %s.", s.speed, s.machines[0].stage.host.Now().UTC().Format(time.RFC3339)))))
	if s.reported.Load() {
		d.Add(render.P(render.Link("The report", "/"+reportName), render.Plain(": what was found, how, and what it does not show. "),
			render.Link("All files", "/files/"), render.Plain(" of this demo.")))
	} else {
		d.Add(render.P(render.Plain(fmt.Sprintf("The report is being made: %s of about %s. What is there already: ", time.Since(s.begun).Round(time.Second), paceOf(s.options).about)),
			render.Link("files", "/files/"), render.Plain(".")))
	}
	d.Add(render.P(render.Link("The dashboards", "/dashboards/"), render.Plain(", as generated for Grafana, over the clocks of the machines (a preview, not Grafana).")))
	machines := render.Table{Header: []string{"Machine", "Engine", "Memory available"}, Words: []int{1}}
	pages := render.List{Lead: []render.Span{render.Plain("Their pages, as on real ones:")}}
	for _, m := range s.machines {
		machines.Add(m.name, m.armUp(), fmt.Sprintf("%.1f GiB", float64(m.stage.host.AvailableBytes())/gib))
		pages.Items = append(pages.Items, []render.Span{render.Plain(m.name + ": "), render.Link("uma-exporter", m.exporterURL()), render.Plain(", "),
			render.Link("engine", m.engineURL()+"/v1/models"), render.Plain(", "), render.Link("KVBM", m.kvbmURL())})
	}
	d.Add(render.H2("Machines"), machines, pages, render.P(render.Plain("Ctrl-C where the demo was started ends all of this.")))
	return d
}

// stay keeps everything open until ctx ends, with an engine that serves requests on every machine.
func (s *showing) stay(ctx context.Context) {
	for i, m := range s.machines {
		a := nativeArm()
		if i%2 == 0 {
			a = containerArm()
		}
		if err := m.stage.begin(ctx, a, engineOptions{seed: s.options.seed}); err != nil {
			return // an interrupt, or the machine has no engine
		}
		s.running.Go(func() { chatting(ctx, m.engineURL()) })
	}
	s.progress.print("\nopen         http://%s/ until Ctrl-C\n", s.open.at)
	<-ctx.Done()
}
