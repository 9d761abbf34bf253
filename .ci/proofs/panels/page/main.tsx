// The page of a dashboard: /?dashboard=NAME&from=now-15m&to=now&var-host=NAME. draw.mjs calls window.panels.
import '@fontsource/inter/400.css'; // the font of Grafana, so that texts are as wide as there
import '@fontsource/inter/500.css';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { MemoryRouter } from 'react-router-dom';
import { ThemeContext } from '@grafana/data';
import { GlobalStyles, PortalContainer } from '@grafana/ui';
import { problem, problems, setScene, theme, traffic } from './grafana';
import { panelsOf, sceneOf } from './dashboard';
import { checkOptions, measured, shown } from './plugins';
import { cutsOf, wordsOf } from './measure';

window.addEventListener('error', (e) => problem('script', e.error ?? e.message));
window.addEventListener('unhandledrejection', (e) => problem('script', e.reason));

// isColoured reports that a cell has a colour of its own that is not transparent: those of tables are gradients.
const isColoured = (cell: Element) => (getComputedStyle(cell).backgroundImage.match(/rgba?\([^)]*\)/g) ?? []).some((c) => !c.endsWith(', 0)'));

// resultOf is what became of a panel.
function resultOf(p: any) {
  const given = shown.get(p.id), frame = document.querySelector(`[data-viz-panel-key="panel-${p.id}"]`), result = { title: p.title, type: p.type };
  if (!given || !frame) return { ...result, error: 'was not drawn', queries: [], words: '', cut: [] };
  const content = frame.querySelector('[data-testid$="content"]') ?? frame, tiles = [...content.querySelectorAll('[data-tile]')];
  const coloured = [...content.querySelectorAll('[role="gridcell"]')].filter(isColoured);
  const plotted = p.type === 'timeseries' || p.type === 'heatmap' ? content.querySelector('canvas') : null;
  const fields = measured(given), empty = fields.length === 0, words = wordsOf(content);
  return { ...result,
    error: given.data.error?.message ?? (given.data.state === 'Error' ? 'failed' : undefined),
    queries: traffic.queries.get(given.data.request?.requestId) ?? [],
    empty, noValue: p.fieldConfig?.defaults?.noValue, words: words.slice(0, 400),
    // A tile or a coloured cell without a word is an area of colour, and nothing can be read of it.
    blank: [...tiles, ...coloured].some((e) => wordsOf(e) === '') || (words === '' && (empty || !plotted)),
    rows: p.type === 'table' ? Math.max(0, ...given.data.series.map((f: any) => f.length)) : undefined,
    series: p.type === 'timeseries' ? fields.length : undefined,
    cut: cutsOf(frame) };
}

async function main() {
  await Promise.all([document.fonts.load('400 14px Inter'), document.fonts.load('500 14px Inter')]); // libraries measure texts before they draw them
  const query = new URLSearchParams(location.search);
  const dashboard = await (await fetch(`dashboards/${query.get('dashboard')}.json`)).json();
  const { scene, variables, fold } = sceneOf(dashboard, query), wanted = panelsOf(dashboard);
  setScene(scene);
  wanted.forEach(checkOptions);
  const ended = (p: any) => ['Done', 'Error'].includes(shown.get(p.id)?.data.state);
  (window as any).panels = {
    // The height of what is seen before a collapsed row is opened: a line of the grid has 30 pixels, and 8 to the next.
    opened: () => fold && document.querySelector('.react-grid-layout')!.getBoundingClientRect().top + scrollY + 38 * fold,
    settled: () => traffic.underWay === 0 && wanted.every((p) => ended(p) || !p.targets),
    choose: (values: Record<string, any>) => variables.forEach((v: any) => v.state.name in values && v.changeValueTo(values[v.state.name])),
    report: () => ({
      title: dashboard.title, problems,
      variables: variables.filter((v: any) => v.state.type !== 'datasource').map((v: any) => ({ name: v.state.name, hidden: v.state.hide === 2, value: v.state.value,
        several: !!v.state.isMulti, options: (v.state.options ?? []).map((o: any) => o.value), error: v.state.error?.message })),
      panels: wanted.map(resultOf),
    }),
  };
  createRoot(document.getElementById('page')!).render(
    <MemoryRouter>
      <ThemeContext.Provider value={theme}>
        <GlobalStyles />
        <PortalContainer />
        <div style={{ padding: 8 }}><scene.Component model={scene} /></div>
      </ThemeContext.Provider>
    </MemoryRouter>,
  );
}
main().catch((cause) => problem('page', cause));
