package loadgen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/cell"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// exported is a file that --export asks for.
type exported struct {
	benchyFile
	path string
}

// parseExports reads FORM=FILE, several with commas between them. A form may have its name of report --format too.
func parseExports(text string) ([]exported, error) {
	var all []exported
	files := benchyFiles()
	for part := range strings.SplitSeq(text, ",") {
		form, path, _ := strings.Cut(part, "=")
		of := slices.IndexFunc(files, func(f benchyFile) bool { return form == f.short || form == f.format })
		switch {
		case of < 0 || path == "":
			var forms []string
			for _, f := range files {
				forms = append(forms, f.short)
			}
			return nil, fmt.Errorf("%q is not FORM=FILE, with a form of %s", part, strings.Join(forms, ", "))
		case slices.ContainsFunc(all, func(e exported) bool { return e.format == files[of].format || e.path == path }):
			return nil, fmt.Errorf("%q: a form or a file is there twice", part)
		}
		all = append(all, exported{files[of], path})
	}
	return all, nil
}

// checkExports refuses files in folders that do not exist, before anything is measured.
func checkExports(all []exported) error {
	for _, e := range all {
		if info, err := os.Stat(filepath.Dir(e.path)); err != nil {
			return fmt.Errorf("--export: %s: %w", e.path, err)
		} else if !info.IsDir() {
			return fmt.Errorf("--export: %s: %s is no folder", e.path, filepath.Dir(e.path))
		}
	}
	return nil
}

// rows reads the figures of the cells that have a run.
func (d *arenaDriver) rows(cells ...arena.Measured) ([]cell.Row, error) {
	var all []cell.Row
	for _, m := range cells {
		if m.Status != arena.Valid && m.Status != arena.Invalid {
			continue
		}
		if _, known := d.read[m.Run]; !known {
			run, err := summary.Open(d.folder.Path(m.Run))
			if err != nil {
				return nil, err
			}
			if d.read[m.Run], err = cell.Read(run); err != nil {
				return nil, err
			}
		}
		all = append(all, d.read[m.Run]...)
	}
	return all, nil
}

// figures returns the measured rates of a cell's prompts; nil where they are not known.
func (d *arenaDriver) figures(m arena.Measured) (pp, tg *float64) {
	rows, err := d.rows(m)
	if err != nil || len(rows) == 0 {
		return nil, nil
	}
	figures := rows[len(rows)-1].Measured() // the row before it, if there is one, is of the contexts
	if figures.Prefill != nil {
		pp = &figures.Prefill.Mean
	}
	if figures.Decode != nil {
		tg = &figures.Decode.Mean
	}
	return pp, tg
}

// present prints the table of the cells, and writes it to the folder and to the files of --export.
func (d *arenaDriver) present() error {
	rows, err := d.rows(d.result.Cells...)
	if err != nil {
		return err
	}
	document := cell.Document(rows)
	document.Title = "Arena " + d.result.Arena
	if left := d.notMeasured(); len(left) > 0 {
		document.Add(render.H2("Not measured, or invalid"), render.List{Items: render.Items(left)})
	}
	err = errors.Join(
		d.folder.Write(rundir.ReportFile, func(w io.Writer) error { return render.Markdown(w, document) }),
		d.folder.Write(rundir.HTMLFile, func(w io.Writer) error { return render.HTML(w, document) }),
		d.export(rows),
	)
	if len(rows) > 0 {
		err = errors.Join(err, cell.WriteText(d.env.Stdout, rows))
	}
	for i, line := range d.notMeasured() {
		if i == 0 {
			line = "\n" + line
		}
		_, printed := fmt.Fprintln(d.env.Stdout, line)
		err = errors.Join(err, printed)
	}
	_, printed := fmt.Fprintf(d.env.Stdout, "\narena folder: %s%c\n", d.folder, os.PathSeparator)
	return errors.Join(err, printed)
}

// notMeasured returns a line for each cell without a valid run.
func (d *arenaDriver) notMeasured() []string {
	var lines []string
	for _, m := range d.result.Cells {
		if m.Status == arena.Valid {
			continue
		}
		line := fmt.Sprintf("%s: %s", m.String(), strings.ReplaceAll(string(m.Status), "_", " "))
		if len(m.InvalidReasons) > 0 {
			line += ": " + strings.Join(m.InvalidReasons, ", ")
		}
		if m.Problem != "" {
			line += ": " + m.Problem
		}
		lines = append(lines, line)
	}
	return lines
}

// export writes the files of --export.
func (d *arenaDriver) export(rows []cell.Row) error {
	all := d.line.arenaPlan.exports
	if len(all) == 0 || len(rows) == 0 {
		return nil
	}
	report, err := cell.NewReport(rows, buildVersion().Version)
	if err != nil {
		return fmt.Errorf("--export: %w", err)
	}
	var errs []error
	for _, e := range all {
		write := func(w io.Writer) error { return e.write(report, w) }
		errs = append(errs, rundir.Folder(filepath.Dir(e.path)).Write(filepath.Base(e.path), write))
	}
	return errors.Join(errs...)
}
