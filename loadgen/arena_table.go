package loadgen

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/campaign"
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

// rowsOf reads the figures of a run, of its contexts first.
func (d *arenaDriver) rowsOf(run string) ([]cell.Row, error) {
	if rows, known := d.rows[run]; known {
		return rows, nil
	}
	read, err := summary.Open(filepath.Join(d.dir, run))
	if err != nil {
		return nil, err
	}
	d.rows[run], err = cell.Read(read)
	return d.rows[run], err
}

// rates returns the measured rates of the prompts of a run; nil where they are not known.
func (d *arenaDriver) rates(run string) (pp, tg *float64) {
	rows, err := d.rowsOf(run)
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
func (d *arenaDriver) present(campaign.Outcome) error {
	var rows []cell.Row
	for _, s := range d.invocation.Facts().Slots {
		if s.Status != campaign.Finished && s.Status != campaign.Invalid {
			continue
		}
		of, err := d.rowsOf(s.Last())
		if err != nil {
			return err
		}
		rows = append(rows, of...)
	}
	document := cell.Document(rows)
	document.Title = "Arena " + d.id
	if left := d.notMeasured(); len(left) > 0 {
		document.Add(render.H2("Not measured, or invalid"), render.List{Items: render.Items(left)})
	}
	dir := rundir.Folder(d.dir)
	err := errors.Join(
		dir.Write(rundir.ReportFile, func(w io.Writer) error { return render.Markdown(w, document) }),
		dir.Write(rundir.HTMLFile, func(w io.Writer) error { return render.HTML(w, document) }),
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
	return errors.Join(err, d.printFolder(d.env.Stdout))
}

// export writes the files of --export.
func (d *arenaDriver) export(rows []cell.Row) error {
	all := d.flags.exports
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
