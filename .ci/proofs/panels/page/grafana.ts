// The part of Grafana's core that its libraries call, stood in: registries of field options and transformations, the HTTP client, and
// one data source, which is Grafana's own for Prometheus.
import * as data from '@grafana/data';
import * as runtime from '@grafana/runtime';
import * as scenes from '@grafana/scenes';
import { PrometheusDatasource } from '@grafana/prometheus';
import { catchError, from, map, of } from 'rxjs';

export const theme = data.createTheme({ colors: { mode: 'dark' } });

// Query is a query of a panel as it was sent, with what came back.
export type Query = { expr: string; series: number; error?: string };

// traffic is what the page asked of the server. A panel's queries are found by the number of its request.
export const traffic = { underWay: 0, queries: new Map<string, Query[]>() };

// problems are failures that belong to no panel.
export const problems: string[] = [];
export const problem = (where: string, cause: any) => void problems.push(`${where}: ${cause?.message ?? cause}`.slice(0, 500));

// ---- registries ----
const keep = data.identityOverrideProcessor;
const fieldOptions: [id: string, process: any, defaultValue?: any][] = [
  ['unit', data.unitOverrideProcessor],
  ['min', data.numberOverrideProcessor],
  ['max', data.numberOverrideProcessor],
  ['fieldMinMax', data.booleanOverrideProcessor],
  ['decimals', data.numberOverrideProcessor],
  ['displayName', data.displayNameOverrideProcessor],
  ['noValue', data.displayNameOverrideProcessor],
  ['color', keep, { mode: 'palette-classic' }],
  ['links', data.dataLinksOverrideProcessor],
  ['actions', data.dataLinksOverrideProcessor],
  ['mappings', data.valueMappingsOverrideProcessor, []],
  ['thresholds', data.thresholdsOverrideProcessor, { mode: 'absolute', steps: [{ value: -Infinity, color: 'green' }, { value: 80, color: 'red' }] }],
  ['filterable', data.booleanOverrideProcessor],
];
// option is a field option without its editor.
export const option = (id: string, process: any = keep, defaultValue?: any): any =>
  ({ id, path: id, name: id, description: '', defaultValue, process, settings: {}, shouldApply: () => true, editor: () => null, override: () => null });
data.standardFieldConfigEditorRegistry.setInit(() => fieldOptions.map((o) => option(...o)));
const transformations = [...new Map(Object.values(data.standardTransformers).map((t: any) => [t.id, t])).values()];
data.standardTransformersRegistry.setInit(() => transformations.map((t: any) =>
  ({ id: t.id, name: t.name, transformation: async () => t, editor: () => null, imageDark: '', imageLight: '' })) as any);
data.setTimeZoneResolver(() => 'utc');

// ---- the HTTP client ----
async function send(request: any): Promise<any> {
  const url = new URL(request.url, location.origin);
  for (const [name, value] of Object.entries(request.params ?? {}))
    for (const one of [value].flat()) if (one !== undefined) url.searchParams.append(name, String(one));
  const method = request.method ?? 'GET', headers = { ...request.headers };
  let body = method === 'GET' ? undefined : request.data;
  if (body && typeof body === 'object') {
    const form = headers['Content-Type'] === 'application/x-www-form-urlencoded';
    body = form ? new URLSearchParams(body) : JSON.stringify(body);
    if (!form) headers['Content-Type'] = 'application/json';
  }
  traffic.underWay++;
  try {
    const response = await fetch(url, { method, headers, body });
    const text = await response.text();
    if (!response.ok) throw { status: response.status, statusText: response.statusText, data: text, message: `${response.status} ${url.pathname}: ${text}`, config: request };
    const answer = text && JSON.parse(text);
    if (url.pathname === '/api/ds/query') traffic.queries.set(request.requestId, request.data.queries.map((q: any) => queryOf(q, answer.results?.[q.refId])));
    return { data: answer, status: response.status, statusText: '', ok: true, url: String(url), headers: response.headers, type: 'basic', redirected: false, config: request };
  } catch (cause) {
    problem('request', cause);
    throw cause;
  } finally {
    traffic.underWay--;
  }
}
const queryOf = (asked: any, answer: any): Query =>
  ({ expr: asked.expr, series: (answer?.frames ?? []).filter((f: any) => f.data?.values?.[0]?.length > 0).length, error: answer?.error });
const observed = (request: any) => from(send(request));
runtime.setBackendSrv({
  fetch: observed, chunked: observed, datasourceRequest: send, resolveCancelerIfExists() {},
  get: async (url: string, params: any) => (await send({ url, params })).data,
  post: async (url: string, body: any) => (await send({ url, data: body, method: 'POST' })).data,
} as any);

// ---- other services ----
let scene: any;
export const setScene = (s: any) => void ((window as any).__grafanaSceneContext = scene = s);
const templates: any = {
  replace: (text: any, scoped: any, format: any, interpolations: any) =>
    scenes.sceneGraph.interpolate(scoped?.__sceneObject?.value.valueOf() ?? scene, text, scoped, format, interpolations),
  containsTemplate: (text: any) => /\$/.test(text ?? ''), getVariables: () => [], getAdhocFilters: () => [], updateTimeRange() {},
};
runtime.setTemplateSrv(templates);
runtime.setLocationSrv({ update() {} } as any);
runtime.setEchoSrv({ flush() {}, addBackend() {}, addEvent() {} } as any);
runtime.setAppEvents(new data.EventBusSrv());

// ---- the data source ----
const settings: any = {
  id: 1, uid: 'prometheus', name: 'Prometheus', type: 'prometheus', isDefault: true, access: 'proxy', readOnly: true, url: '/api/datasources/proxy/uid/prometheus',
  jsonData: { timeInterval: '5s', httpMethod: 'POST', prometheusType: 'Prometheus' },
  meta: { id: 'prometheus', name: 'Prometheus', type: 'datasource', metrics: true, annotations: true, module: '', baseUrl: '', queryOptions: { minInterval: true },
    info: { author: { name: '' }, logos: { small: '', large: '' } } },
};
Object.assign(runtime.config as any, { theme2: theme, panels: {}, buildInfo: { version: '13.2.1', env: 'production' }, datasources: { Prometheus: settings }, defaultDatasource: 'Prometheus' });
const source: any = new PrometheusDatasource(settings, templates);
Object.assign(source, { type: 'prometheus', uid: 'prometheus', name: 'Prometheus', meta: settings.meta, getRef: () => ({ type: 'prometheus', uid: 'prometheus' }) });
source.init?.();
runtime.setDataSourceSrv({ get: async () => source, getInstanceSettings: () => settings, getList: () => [settings], reload() {}, registerRuntimeDataSource() {} } as any);

// What core does with an answer on its way to the panel.
runtime.setRunRequest(((ds: any, request: any, own: any) => {
  const panel: any = { state: data.LoadingState.Loading, series: [], annotations: [], timeRange: request.range, request };
  const ofAnnotations = (frame: any) => frame?.meta?.dataTopic === 'annotations';
  return from(own ? own(request) : ds.query(request)).pipe(
    map((answer: any) => {
      const frames = answer.data ?? [], error = answer.error ?? answer.errors?.[0];
      return { ...panel, state: error ? data.LoadingState.Error : data.LoadingState.Done, error, errors: answer.errors, annotations: frames.filter(ofAnnotations),
        series: own ? frames : frames.filter((f: any) => !ofAnnotations(f)).map((f: any) => data.toDataFrame(f)) };
    }),
    catchError((error) => of({ ...panel, state: data.LoadingState.Error, error })),
  );
}) as any);
