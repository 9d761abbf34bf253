package runner

import (
	"context"
	"errors"

	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/scene"
)

// followAround starts what the command needs, goes through the phases, and stops it.
func (r *recording) followAround(ctx, cut context.Context) error {
	defer r.closeSpan()
	r.manifest.Campaign = r.env.Engine.Facts()
	if err := r.open(ctx); err != nil {
		return err
	}
	engine, err := r.env.Engine.Before(ctx, r.enter)
	if err == nil {
		err = r.runBeside(ctx, cut, engine)
	} else if ctx.Err() != nil {
		err = ErrInterrupted
	}
	r.scene.EngineGoes()
	r.env.Engine.After(cut)
	r.manifest.Campaign = r.env.Engine.Facts()
	r.scene.Settle(cut)
	return err
}

// runBeside runs the command beside an engine that was started for it; it ends with the engine.
func (r *recording) runBeside(ctx, cut, engine context.Context) error {
	err := r.scene.LookAtEngine(ctx)
	r.manifest.Campaign = r.env.Engine.Facts()
	if err == nil {
		err = errors.Join(r.folder.WriteJSON(folder.ManifestFile, r.manifest), r.scene.Capture(ctx, scene.Before))
	}
	if err != nil {
		return err
	}
	both, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	defer context.AfterFunc(engine, func() { halt(context.Cause(engine)) })()
	err = r.watched(both, r.env.Engine.rests())
	if engine.Err() != nil {
		err = context.Cause(engine)
	}
	r.scene.KeepLog(cut)
	return errors.Join(err, r.scene.Capture(cut, scene.After))
}
