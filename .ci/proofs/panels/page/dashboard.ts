// A dashboard's JSON as a scene, which in Grafana is the work of its core.
import * as scenes from '@grafana/scenes';
import { problem } from './grafana';

function variable(v: any): any {
  const common = { name: v.name, label: v.label, hide: v.hide, value: v.current?.value ?? '', text: v.current?.text ?? '' };
  switch (v.type) {
    case 'datasource': return new scenes.DataSourceVariable({ ...common, pluginId: v.query, regex: v.regex ?? '' });
    case 'query': return new scenes.QueryVariable({ ...common, query: v.query, datasource: v.datasource, regex: v.regex ?? '', sort: v.sort ?? 0, refresh: v.refresh,
      isMulti: v.multi, includeAll: v.includeAll, allValue: v.allValue || undefined, defaultToAll: !!v.includeAll });
    case 'custom': return new scenes.CustomVariable({ ...common, query: v.query, isMulti: v.multi, includeAll: v.includeAll });
    case 'constant': return new scenes.ConstantVariable({ name: v.name, value: v.query });
    case 'textbox': return new scenes.TextBoxVariable({ ...common, value: v.query });
  }
  problem('variable', `${v.name} is of unknown type ${v.type}`);
}

const panel = (p: any) => new scenes.VizPanel({
  key: `panel-${p.id}`, title: p.title, description: p.description, pluginId: p.type, options: p.options ?? {}, fieldConfig: p.fieldConfig,
  $data: p.targets && new scenes.SceneDataTransformer({
    transformations: p.transformations ?? [],
    $data: new scenes.SceneQueryRunner({ datasource: p.datasource, queries: p.targets, maxDataPoints: p.maxDataPoints, minInterval: p.interval, dataLayerFilter: { panelId: p.id } }),
  }),
} as any);

// Section is a row with its panels, or the panels above the first row. A collapsed row has its panels inside.
type Section = { row?: any; panels: any[] };

function sectionsOf(dashboard: any): Section[] {
  const sections: Section[] = [{ panels: [] }];
  for (const p of dashboard.panels) {
    if (p.type === 'row') sections.push({ row: p, panels: [...(p.panels ?? [])] });
    else sections.at(-1)!.panels.push(p);
  }
  return sections;
}

export const panelsOf = (dashboard: any): any[] => sectionsOf(dashboard).flatMap((s) => s.panels);

// sceneOf opens every row, below the row before it: what is collapsed lies where it would be on top of others. fold is the line of the grid
// at which the first collapsed row begins.
export function sceneOf(dashboard: any, query: URLSearchParams) {
  const children: any[] = [];
  let y = 0, fold: number | undefined;
  for (const { row, panels } of sectionsOf(dashboard)) {
    const top = Math.min(...panels.map((p) => p.gridPos.y)), below = y + (row ? 1 : 0);
    const items = panels.map((p) => new scenes.SceneGridItem({ x: p.gridPos.x, y: below + p.gridPos.y - top, width: p.gridPos.w, height: p.gridPos.h, body: panel(p) } as any));
    if (row?.collapsed) fold ??= y;
    if (row) children.push(new scenes.SceneGridRow({ title: row.title, isCollapsible: true, x: 0, y, width: 24, height: 1, children: items } as any));
    else children.push(...items);
    y = Math.max(below, ...panels.map((p) => below + p.gridPos.y - top + p.gridPos.h));
  }
  const time = (text: string) => (/^\d+$/.test(text) ? new Date(+text).toISOString() : text);
  const variables = (dashboard.templating?.list ?? []).map(variable).filter(Boolean);
  const scene = new scenes.EmbeddedScene({
    $timeRange: new scenes.SceneTimeRange({ from: time(query.get('from') ?? dashboard.time.from), to: time(query.get('to') ?? dashboard.time.to), timeZone: 'utc' }),
    $variables: new scenes.SceneVariableSet({ variables }),
    $data: new scenes.SceneDataLayerSet({ layers: (dashboard.annotations?.list ?? []).map((a: any) =>
      new scenes.dataLayers.AnnotationsDataLayer({ key: `annotations-${a.name}`, name: a.name, query: a, isEnabled: a.enable, isHidden: !!a.hide })) }),
    controls: [new scenes.VariableValueSelectors({}), new scenes.SceneControlsSpacer(), new scenes.SceneTimePicker({})],
    body: new scenes.SceneGridLayout({ children, isLazy: false } as any),
  });
  scenes.sceneUtils.syncStateFromSearchParams(scene, query);
  return { scene, variables, fold };
}
