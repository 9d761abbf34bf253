package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The metadata of the images.
const (
	provenVersion  = "v0.0.0-proof"
	provenRevision = "0123456789abcdef0123456789abcdef01234567"
)

// images are those of the project.
type images []string

func ownImages() images {
	return images{"umascope/uma-exporter:dev", "umascope/uma-load:dev", "umascope/uma-demo:dev"}
}

// build builds the images as compose does, each from its Dockerfile.
func (p *proof) build(ctx context.Context, c checkout) (string, error) {
	var notes []string
	for _, service := range []string{"exporter", "load", "sim"} {
		began := time.Now()
		if err := p.docker.in(c.compose()).quiet(ctx, "compose", "--file", "compose.yaml", "--profile", "*", "build", service); err != nil {
			return strings.Join(notes, "\n"), err
		}
		notes = append(notes, fmt.Sprintf("%s in %.0f s", service, time.Since(began).Seconds()))
	}
	for _, image := range ownImages() {
		size, err := p.docker.say(ctx, "image", "inspect", "--format", "{{.Size}}", image)
		if err != nil {
			return "", err
		}
		history, err := p.docker.say(ctx, "history", "--no-trunc", "--human=false", "--format", "{{.Size}}", image)
		if err != nil {
			return "", err
		}
		own := 0
		// The newest layers come first; that of the base is the last one with anything in it.
		if sizes := strings.Fields(history); len(sizes) > 0 {
			for _, s := range sizes {
				var n int
				if _, err := fmt.Sscan(s, &n); err == nil && n > 0 {
					own = n
					break
				}
			}
		}
		var all int
		_, _ = fmt.Sscan(size, &all) // docker's own number
		notes = append(notes, fmt.Sprintf("%s: %.1f MB, of which %.1f MB are not its base", image, float64(all)/1e6, float64(own)/1e6))
	}
	return strings.Join(notes, "\n"), nil
}

// imagesTell checks the metadata of the images, and starts each program alone: no network, read-only, no capabilities.
func (p *proof) imagesTell(ctx context.Context) (string, error) {
	var notes []string
	var problems []error
	for _, image := range ownImages() {
		text, err := p.docker.say(ctx, "image", "inspect", "--format", "{{json .Config}}", image)
		if err != nil {
			return "", err
		}
		var config struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return "", err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(image, "umascope/"), ":dev")
		if !slices.Equal(config.Entrypoint, []string{"/usr/local/bin/" + name}) || config.User != "65534:65534" {
			problems = append(problems, fmt.Errorf("%s starts %q as %q", image, config.Entrypoint, config.User))
		}
		const prefix = "org.opencontainers.image."
		for label, want := range map[string]string{"title": name, "version": provenVersion, "revision": provenRevision, "licenses": "Apache-2.0"} {
			if got := config.Labels[prefix+label]; got != want {
				problems = append(problems, fmt.Errorf("%s: label %s is %q, not %q", image, label, got, want))
			}
		}
		arguments := []string{"run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true", image}
		if name != "uma-demo" { // its version is on the pages that it serves
			out, stderr, err := p.docker.output(ctx, append(append([]string{"docker"}, arguments...), "--version")...)
			version := strings.TrimSpace(out + stderr)
			if err != nil || !strings.Contains(version, provenVersion) || !strings.Contains(version, provenRevision) {
				problems = append(problems, fmt.Errorf("%s --version: %q, %w", image, version, err))
			}
			notes = append(notes, version)
		}
		if _, _, err := p.docker.output(ctx, append(append([]string{"docker"}, arguments...), "--no-such-flag")...); exitCode(err) != 2 {
			problems = append(problems, fmt.Errorf("%s --no-such-flag ends with %d and not 2", image, exitCode(err)))
		}
	}
	return strings.Join(notes, "\n"), errors.Join(problems...)
}
