// The panel plugins. Those of Grafana are part of its core, so these are short ones around the components that it publishes: stat, table and
// time series. Bar chart, state timeline and heat map are published in no library; they are drawn here, plainly.
import React from 'react';
import * as data from '@grafana/data';
import * as runtime from '@grafana/runtime';
import * as ui from '@grafana/ui';
import { TableNG } from 'grafana-table'; // the table of the table panel, which @grafana/ui has but does not export
import { option, problem, theme } from './grafana';

// shown has what each panel was given last, by its id.
export const shown = new Map<number, any>();

const values = (field: any): any[] => Array.from(field.values);
const absent = (value: any) => value === null || value === undefined || Number.isNaN(value);
const text = (field: any, value: any) => (field.display ? data.formattedValueToString(field.display(value)) : String(value));
const name = (field: any, frame: any, p: any) => data.getFieldDisplayName(field, frame, p.data.series);
const color = (field: any) => data.getFieldSeriesColor(field, theme).color;
const isNumber = (field: any) => field.type === data.FieldType.number;

// measured are the fields of the panel's data that hold a value and are no time.
export const measured = (p: any): any[] =>
  p.data.series.flatMap((f: any) => f.fields.filter((x: any) => x.type !== data.FieldType.time && values(x).some((v) => !absent(v))));

function Stat(p: any) {
  const o = p.options, { defaults } = p.fieldConfig;
  const textMode = o.textMode === 'auto' && (defaults.displayName || !p.title) ? 'value_and_name' : o.textMode;
  const getValues = () => data.getFieldDisplayValues({ fieldConfig: p.fieldConfig, reduceOptions: o.reduceOptions, replaceVariables: p.replaceVariables, theme,
    data: p.data.series, sparkline: o.graphMode !== 'none', timeZone: p.timeZone } as any);
  return <ui.VizRepeater getValues={getValues} source={p.data} width={p.width} height={p.height}
    orientation={o.orientation ?? 'auto'} itemSpacing={3} autoGrid renderCounter={p.renderCounter} renderValue={({ value, width, height, count }: any) =>
      <div data-tile><ui.BigValue value={value.display} sparkline={value.sparkline} width={width} height={height} count={count} theme={theme}
        text={o.text} textMode={textMode} colorMode={o.colorMode} graphMode={o.graphMode} justifyMode={o.justifyMode} disableWideLayout={!o.wideLayout} /></div>} />;
}

function Table(p: any) {
  data.cacheFieldDisplayNames(p.data.series);
  return <TableNG data={p.data.series[p.options.frameIndex ?? 0]} width={p.width} height={p.height} noHeader={!p.options.showHeader} sortBy={p.options.sortBy}
    cellHeight={p.options.cellHeight} fieldConfig={p.fieldConfig} timeRange={p.timeRange} replaceVariables={p.replaceVariables} getActions={() => []} structureRev={1} enableVirtualization resizable />;
}

function TimeSeries(p: any) {
  // The plot takes no infinities; Grafana's panel removes them too.
  const finite = (f: any) => (isNumber(f) ? { ...f, values: values(f).map((v) => (Number.isFinite(v) ? v : null)) } : f);
  const Plot: any = ui.TimeSeries;
  return <Plot frames={p.data.series.map((f: any) => ({ ...f, fields: f.fields.map(finite) }))} structureRev={p.data.structureRev} width={p.width} height={p.height}
    timeRange={p.timeRange} timeZone={p.timeZone} legend={p.options.legend} options={p.options}>{() => null}</Plot>;
}

const Line = ({ label, cut, children }: any) =>
  <div style={{ display: 'flex', alignItems: 'center', height: 22, gap: 8 }}>
    <span data-cut={cut} style={{ flex: '0 0 170px', textAlign: 'right', whiteSpace: 'nowrap' }}>{label}</span>
    <div style={{ flex: 1, display: 'flex', height: 16 }}>{children}</div>
  </div>;
const Part = ({ share, background, title }: any) => <div title={title} style={{ width: `${100 * share}%`, background, overflow: 'hidden' }} />;
const Sheet = ({ p, fields, children }: any) =>
  <div style={{ width: p.width, height: p.height, overflowY: 'auto', fontSize: 12 }}>
    {children}
    <div style={{ display: 'flex', flexWrap: 'wrap', gap: 12, padding: 4 }}>
      {(fields ?? []).map(([label, background]: any) => <span key={label} style={{ whiteSpace: 'nowrap' }}><i style={{ display: 'inline-block', width: 12, height: 4, background }} /> {label}</span>)}
    </div>
  </div>;

// A line for each bar, of the parts that are stacked. A label longer than xTickLabelMaxLength is cut, as Grafana cuts it.
function BarChart(p: any) {
  const frame = p.data.series[0], parts = frame.fields.filter(isNumber);
  const of = frame.fields.find((f: any) => name(f, frame, p) === p.options.xField) ?? frame.fields.find((f: any) => f.type === data.FieldType.string);
  const sum = (i: number) => parts.reduce((n: number, f: any) => n + Math.abs(f.values[i] ?? 0), 0);
  const rows = Array.from({ length: frame.length }, (_, i) => i), most = Math.max(...rows.map(sum)), limit = p.options.xTickLabelMaxLength || Infinity;
  return <Sheet p={p} fields={parts.map((f: any) => [name(f, frame, p), color(f)])}>
    {rows.map((i) => {
      const label = of ? text(of, of.values[i]) : '';
      return <Line key={i} label={label.length > limit ? label.slice(0, limit) + '…' : label} cut={label.length > limit ? label : undefined}>
        {parts.map((f: any, n: number) => <Part key={n} share={Math.abs(f.values[i] ?? 0) / most} background={color(f)} title={text(f, f.values[i])} />)}
      </Line>;
    })}
  </Sheet>;
}

// A line for each field, with its states from left to right.
function StateTimeline(p: any) {
  const from = p.timeRange.from.valueOf(), span = p.timeRange.to.valueOf() - from, states = new Map<string, string>();
  const lines = p.data.series.flatMap((frame: any) => {
    const times = values(frame.fields.find((f: any) => f.type === data.FieldType.time) ?? { values: [] });
    return frame.fields.filter((f: any) => f.type !== data.FieldType.time).map((f: any) => {
      const parts: any[] = [{ share: Math.max(0, (times[0] - from) / span) }];
      values(f).forEach((v, i) => {
        const share = ((times[i + 1] ?? times[i]) - times[i]) / span;
        if (absent(v)) return parts.push({ share });
        const display = f.display(v), title = data.formattedValueToString(display);
        states.set(title, display.color);
        parts.push({ share, title, background: display.color });
      });
      return <Line key={name(f, frame, p)} label={name(f, frame, p)}>{parts.map((part, i) => <Part key={i} {...part} />)}</Line>;
    });
  });
  return <Sheet p={p} fields={[...states]}>{lines}</Sheet>;
}

// cellsOf reads the cells of a native histogram, or makes them of the buckets of a classic one: end, low and high edge, count.
function cellsOf(frame: any): [number, number, number, number][] {
  const column = (n: string) => frame.fields.find((f: any) => f.name === n)?.values;
  const end = column('xMax') ?? column('Time'), low = column('yMin'), high = column('yMax'), count = column('count');
  if (end && low && high && count) return values({ values: end }).map((x, i) => [x, Math.log(low[i] || high[i] / 2), Math.log(high[i]), count[i]]);
  const time = frame.fields.find((f: any) => f.type === data.FieldType.time);
  return frame.fields.filter(isNumber).flatMap((f: any, row: number) => values(f).map((n, i) => [time.values[i], row, row + 1, n]));
}

function Heatmap(p: any) {
  const canvas = React.useRef<HTMLCanvasElement>(null);
  const cells = cellsOf(p.data.series.find((f: any) => f.meta?.type === data.DataFrameType.HeatmapCells) ?? p.data.series[0]).filter((c) => c[3] > 0);
  React.useEffect(() => {
    const pen = canvas.current!.getContext('2d')!, from = p.timeRange.from.valueOf(), span = p.timeRange.to.valueOf() - from;
    const bottom = Math.min(...cells.map((c) => c[1])), top = Math.max(...cells.map((c) => c[2])), most = Math.max(...cells.map((c) => c[3]));
    const y = (v: number) => p.height * (1 - (v - bottom) / (top - bottom));
    pen.clearRect(0, 0, p.width, p.height);
    for (const [end, low, high, count] of cells) {
      pen.fillStyle = `hsl(${220 - 170 * Math.sqrt(count / most)}, 80%, 50%)`;
      pen.fillRect((p.width * (end - from)) / span - 6, y(high), 6, Math.max(1, y(low) - y(high)));
    }
  });
  return <canvas ref={canvas} width={p.width} height={p.height} />;
}

const Text = (p: any) => <div dangerouslySetInnerHTML={{ __html: data.renderMarkdown(p.replaceVariables(p.options.content ?? '')) }} />;

// Without data Grafana shows the option "No value" of the panel.
const NoData = (p: any) => <div style={{ height: p.height, display: 'flex', alignItems: 'center', justifyContent: 'center', textAlign: 'center', fontSize: 14 }}>{p.fieldConfig.defaults.noValue ?? 'No data'}</div>;

// ---- the plugins, each with the defaults of its field options ----
const scale = { scaleDistribution: { type: 'linear' }, hideFrom: { tooltip: false, viz: false, legend: false } };
const plugins: Record<string, [component: React.ComponentType<any>, defaults: Record<string, any>]> = {
  stat: [Stat, {}],
  table: [Table, { align: 'auto', cellOptions: { type: 'auto' }, inspect: false, filterable: false, hidden: false, width: undefined, minWidth: undefined, wrapText: undefined,
    wrapHeaderText: undefined, tooltip: undefined, footer: undefined }],
  timeseries: [TimeSeries, { ...scale, drawStyle: 'line', lineInterpolation: 'linear', lineWidth: 1, fillOpacity: 0, gradientMode: 'none', showPoints: 'auto', pointSize: 5, spanNulls: false,
    insertNulls: false, barAlignment: 0, stacking: { mode: 'none', group: 'A' }, axisPlacement: 'auto', axisColorMode: 'text', axisCenteredZero: false, axisBorderShow: false, axisLabel: '',
    axisSoftMin: undefined, axisSoftMax: undefined,
    thresholdsStyle: { mode: 'off' }, lineStyle: undefined, transform: undefined }],
  barchart: [BarChart, { ...scale, fillOpacity: 80, gradientMode: 'none', lineWidth: 1 }],
  'state-timeline': [StateTimeline, { fillOpacity: 70, lineWidth: 0 }],
  heatmap: [Heatmap, scale],
  text: [Text, {}],
};
const made: Record<string, any> = {};
for (const [id, [Component, defaults]] of Object.entries(plugins)) {
  made[id] = new data.PanelPlugin((p: any) => {
    shown.set(p.id, p);
    return id === 'stat' || id === 'text' || measured(p).length > 0 ? <Component {...p} /> : <NoData {...p} />;
  });
  made[id].meta = { id, name: id, type: 'panel', module: '', baseUrl: '', sort: 1, info: { version: '13.2.1', author: { name: '' }, logos: { small: '', large: '' }, links: [], screenshots: [], updated: '', description: '' } };
  made[id].useFieldConfig({ useCustomConfig: (b: any) => {
    for (const [path, value] of Object.entries(defaults)) b.addCustomEditor(option(path, undefined, value));
  } });
}
// checkOptions reports the field options of a panel that the plugin above does not have: the libraries drop them without a word.
export function checkOptions(p: any) {
  const set = [...Object.keys(p.fieldConfig?.defaults?.custom ?? {}), ...(p.fieldConfig?.overrides ?? []).flatMap((o: any) => o.properties.map((x: any) => x.id))
    .filter((id: string) => id.startsWith('custom.')).map((id: string) => id.slice('custom.'.length))];
  for (const id of new Set(set)) if (plugins[p.type] && !(id in plugins[p.type][1])) problem('panel', `${p.title}: the field option ${id} is not among those of ${p.type} here`);
}

runtime.setPluginImportUtils({
  importPanelPlugin: async (id: string) => made[id] ?? problem('panel', `of unknown type ${id}`),
  getPanelPluginFromCache: (id: string) => made[id],
} as any);
