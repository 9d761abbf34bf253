package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// standIn is a replacement for a published image: its programs, folders, users and entry point, as far as the stack
// uses them.
type standIn struct {
	repository string // the tag is the one that compose.yaml names
	what       string
	module     string            // of the first program, whose version is reported, "" for one of ours
	programs   map[string]string // path in the image: program of the tools
	folders    map[string]owner  // that the image's user may write
	changes    []string          // as docker import takes them
}

type owner struct{ user, group int }

const nobody = 65534

// standIns are the images in compose.yaml that need a registry, which is absent here.
func standIns() []standIn {
	return []standIn{
		{
			repository: "prom/prometheus", what: "Prometheus' own program", module: "github.com/prometheus/prometheus",
			programs: map[string]string{"bin/prometheus": "prometheus", "bin/promtool": "promtool"},
			folders:  map[string]owner{"prometheus": {nobody, nobody}, "etc/prometheus": {nobody, nobody}},
			changes: []string{"USER nobody", "WORKDIR /prometheus", "VOLUME /prometheus", "EXPOSE 9090", `ENTRYPOINT ["/bin/prometheus"]`,
				`CMD ["--config.file=/etc/prometheus/prometheus.yml","--storage.tsdb.path=/prometheus"]`},
		},
		{
			repository: "prom/alertmanager", what: "Alertmanager's own program", module: "github.com/prometheus/alertmanager",
			programs: map[string]string{"bin/alertmanager": "alertmanager", "bin/amtool": "amtool"},
			folders:  map[string]owner{"alertmanager": {nobody, nobody}, "etc/alertmanager": {nobody, nobody}},
			changes: []string{"USER nobody", "WORKDIR /alertmanager", "VOLUME /alertmanager", "EXPOSE 9093", `ENTRYPOINT ["/bin/alertmanager"]`,
				`CMD ["--config.file=/etc/alertmanager/alertmanager.yml","--storage.path=/alertmanager"]`},
		},
		{
			repository: "grafana/grafana", what: "NOT Grafana: a stand-in that reads its files and asks its queries",
			programs: map[string]string{"run.sh": "grafana"},
			folders:  map[string]owner{"var/lib/grafana": {472, 0}, "var/log/grafana": {472, 0}, "etc/grafana/provisioning": {472, 0}},
			changes: []string{"USER 472", "WORKDIR /usr/share/grafana", "EXPOSE 3000", `ENTRYPOINT ["/run.sh"]`,
				"ENV GF_PATHS_PROVISIONING=/etc/grafana/provisioning", "ENV GF_PATHS_DATA=/var/lib/grafana"},
		},
	}
}

// basesOf returns the base images of the Dockerfiles, except scratch, with the archive that each is made of.
func basesOf(dockerfiles []string) (map[string]string, error) {
	from := regexp.MustCompile(`(?m)^FROM\s+(?:--platform=\S+\s+)?(\S+)`)
	bases := map[string]string{}
	for _, path := range dockerfiles {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		for _, match := range from.FindAllStringSubmatch(string(text), -1) {
			switch name, _, _ := strings.Cut(match[1], ":"); name {
			case "scratch":
			case "golang", "debian":
				bases[match[1]] = name + ".tar"
			default:
				return nil, fmt.Errorf("%s begins with %s, which nothing here stands in for", path, match[1])
			}
		}
	}
	if len(bases) == 0 {
		return nil, errors.New("no Dockerfile begins with anything")
	}
	return bases, nil
}

// golang's environment is that of the published image. Modules come from the archive, which has those of go.sum.
var golang = []string{
	"ENV PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "ENV GOPATH=/go", "ENV GOTOOLCHAIN=local",
	"ENV GOPROXY=file:///opt/modules,off", "ENV GONOSUMDB=*", "WORKDIR /go",
}

// makeBases imports the base images, and makes the stand-ins.
func (p *proof) makeBases(ctx context.Context) (string, error) {
	dockerfiles, err := filepath.Glob(filepath.Join(p.files.checkout, "compose", "*.Dockerfile"))
	if err != nil {
		return "", err
	}
	bases, err := basesOf(dockerfiles)
	if err != nil {
		return "", err
	}
	var notes []string
	for image, archive := range bases {
		arguments := []string{"import"}
		if strings.HasPrefix(image, "golang:") {
			for _, change := range golang {
				arguments = append(arguments, "--change", change)
			}
		}
		if err := p.docker.quiet(ctx, append(arguments, filepath.Join(p.files.bases, archive), image)...); err != nil {
			return "", err
		}
		notes = append(notes, image+": made here by debootstrap")
	}
	compose, err := os.ReadFile(filepath.Join(p.files.checkout, "compose", "compose.yaml"))
	if err != nil {
		return "", err
	}
	for _, s := range standIns() {
		image, err := p.makeStandIn(ctx, s, string(compose))
		if err != nil {
			return "", err
		}
		version, err := s.version(p.files.tools)
		if err != nil {
			return "", err
		}
		notes = append(notes, image+": "+s.what+version)
	}
	slices.Sort(notes)
	return strings.Join(notes, "\n"), nil
}

// version returns the version of the module that the programs were built from, which may differ from the image's tag.
func (s standIn) version(tools string) (string, error) {
	if s.module == "" {
		return "", nil
	}
	for _, program := range s.programs {
		info, err := buildinfo.ReadFile(filepath.Join(tools, program))
		if err != nil {
			return "", err
		}
		// A program of the module itself has it as its main module, whichever module go build was called with.
		for _, module := range append(info.Deps, &info.Main) {
			if module.Path == s.module {
				return ", module " + module.Version, nil
			}
		}
	}
	return "", fmt.Errorf("the programs of %s are not built from %s", s.repository, s.module)
}

// makeStandIn makes an image under the name that the stack uses.
func (p *proof) makeStandIn(ctx context.Context, s standIn, compose string) (image string, err error) {
	image = regexp.MustCompile(`(?m)image: (` + regexp.QuoteMeta(s.repository) + `:\S+)`).FindString(compose)
	if image == "" {
		return "", fmt.Errorf("compose.yaml has no image of %s", s.repository)
	}
	image = strings.TrimPrefix(image, "image: ")
	archive := p.path(strings.ReplaceAll(s.repository, "/", "-") + ".tar")
	if err := s.write(archive, p.files.tools); err != nil {
		return "", err
	}
	defer os.Remove(archive)
	arguments := []string{"import"}
	for _, change := range s.changes {
		arguments = append(arguments, "--change", change)
	}
	return image, p.docker.quiet(ctx, append(arguments, archive, image)...)
}
