package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// inbox is a webhook that receives alerts. It is on this machine, at an address that no network has (RFC 5737), which
// prove adds to the loopback: containers reach it by their gateway, as they would reach a receiver outside.
type inbox struct {
	address string
	server  *http.Server
	serving sync.WaitGroup
	mu      sync.Mutex
	notices []notice
}

// notice is Alertmanager's message about an alert.
type notice struct {
	Status string
	Labels map[string]string
}

const inboxAddress = "192.0.2.1:8080"

func openInbox() (*inbox, error) {
	listener, err := net.Listen("tcp", inboxAddress)
	if err != nil {
		return nil, err
	}
	i := &inbox{address: inboxAddress}
	i.server = &http.Server{Handler: http.HandlerFunc(i.take), ReadHeaderTimeout: time.Second}
	i.serving.Go(func() { _ = i.server.Serve(listener) }) // ends with ErrServerClosed
	return i, nil
}

func (i *inbox) url() string { return "http://" + i.address + "/" }

func (i *inbox) close() {
	i.server.Close()
	i.serving.Wait()
}

func (i *inbox) take(w http.ResponseWriter, r *http.Request) {
	var message struct{ Alerts []notice }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostAnswer)).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notices = append(i.notices, message.Alerts...)
}

// empty drops all notices.
func (i *inbox) empty() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notices = nil
}

// all returns all notices so far.
func (i *inbox) all() []notice {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.notices)
}

// awaits waits for a notice that matches.
func (i *inbox) awaits(ctx context.Context, most time.Duration, wanted func(notice) bool) (notice, error) {
	var found notice
	err := until(ctx, most, func(context.Context) error {
		all := i.all()
		at := slices.IndexFunc(all, wanted)
		if at < 0 {
			return errors.New("nobody was told of it; of others: " + fmt.Sprint(len(all)))
		}
		found = all[at]
		return nil
	})
	return found, err
}
