package arm

import (
	"context"
	"strings"
)

// Images returns the image IDs of containers, by process. A process is absent if no tool reports its image.
func (r *Running) Images(ctx context.Context) map[string]string {
	images := map[string]string{}
	state := r.keeper.seen()
	for _, one := range state.Processes {
		where := r.keeper.placeOfStarted(one)
		tool, name := one.Tool, one.Container
		if names, err := where.ran(ctx, one, state.Token); err == nil && len(names) > 0 {
			tool, name = one.Runs, names[0]
		}
		if name == "" {
			continue
		}
		id, err := ask(ctx, question{args: where.command(tool, "inspect", "--type", "container", "--format", "{{.Image}}", name)})
		if id = strings.TrimSpace(id); err == nil && id != "" {
			images[one.Name] = id
		}
	}
	return images
}
