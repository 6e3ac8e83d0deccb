/** GET {base}/login, in development: a test token for whoever asks. */
import build, { type Schema } from 'fast-json-stringify';
import type { DevelopmentIssuer } from '../../auth/development-issuer.js';
import { type ClaimTable, canonicalValue } from '../../auth/identity.js';
import type { ParameterFault } from '../../errors.js';
import { PARAMETER_VALUES_MAX } from '../../limits.js';
import type { IdentifierMode } from '../../model/event.js';
import type { IndexedFieldName } from '../../model/fields.js';
import { describeIdentifier } from '../../model/identifier.js';
import { LOGIN_SCHEMA } from '../../openapi/component-schemas.js';
import { suggest } from '../../structures/suggest.js';
import type { ParameterPairs, ParseOptions, View } from '../../view/view.js';
import type { ViewSource } from '../../view/view-source.js';
import { sendProblem } from '../answer/problem.js';
import { sendText } from '../answer/respond.js';
import { sendSnapshotUnavailable } from '../read.js';
import { parseQueryString } from '../request/query-string.js';
import type { OpenRoute } from '../routes.js';

interface LoginAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
}

const serialise: (answer: LoginAnswer) => string = build(LOGIN_SCHEMA as unknown as Schema);

/** Values by field. */
type Values = Readonly<Partial<Record<IndexedFieldName, readonly string[]>>>;

interface LoginRequest {
  readonly subject: string | undefined;
  readonly values: Values;
}

export function loginRoute(
  views: ViewSource,
  options: {
    readonly path: string;
    readonly issuer: DevelopmentIssuer;
    readonly identifiers: IdentifierMode;
    readonly unknownParameters: ParseOptions['unknownParameters'];
  },
): OpenRoute {
  const { issuer, identifiers } = options;
  return {
    kind: 'open',
    label: '/login',
    path: options.path,
    async handle(exchange) {
      const { view } = views;
      if (view === null) {
        sendSnapshotUnavailable(exchange, views);
        return;
      }
      const query = parseQueryString(exchange.query);
      const pairs =
        options.unknownParameters === 'reject'
          ? query.pairs
          : query.pairs.filter(([name]) => isParameter(name, issuer.table));
      const parsed = parseLogin(pairs, issuer.table, identifiers);
      const faults = [...query.faults, ...parsed.faults];
      if (faults.length > 0) {
        sendProblem(exchange, {
          code: 'parameters-invalid',
          detail: 'The query parameters are not valid; see "errors".',
          errors: faults,
        });
        return;
      }
      const request =
        pairs.length === 0
          ? { subject: undefined, values: sampleValues(view, issuer.table) }
          : parsed.request;
      const { token, expiresInSeconds } = await issuer.issue(request);
      sendText(
        exchange,
        200,
        ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'],
        serialise({ access_token: token, token_type: 'Bearer', expires_in: expiresInSeconds }),
      );
    },
  };
}

function isParameter(name: string, table: ClaimTable): boolean {
  return name === 'sub' || table.some((row) => row.field.name === name);
}

/** `sub` once; every field that a claim selects on, any number of times. */
function parseLogin(
  pairs: ParameterPairs,
  table: ClaimTable,
  mode: IdentifierMode,
): { request: LoginRequest; faults: readonly ParameterFault[] } {
  const faults: ParameterFault[] = [];
  const values: Partial<Record<IndexedFieldName, string[]>> = {};
  let subject: string | undefined;
  for (const [name, value] of pairs) {
    const field = table.find((row) => row.field.name === name)?.field;
    if (name !== 'sub' && field === undefined) {
      const known = ['sub', ...table.map((row) => row.field.name)];
      const near = suggest(name, known);
      faults.push({
        parameter: name,
        code: 'unknown-parameter',
        detail: `there is no parameter of this name here: ${near === null ? `its parameters are ${known.join(', ')}` : `did you mean ${near}?`}`,
      });
    } else if (value === '') {
      faults.push({
        parameter: name,
        code: 'empty-value',
        detail: `${name} has no value; leave it out`,
      });
    } else if (field === undefined) {
      if (subject !== undefined) {
        faults.push({
          parameter: name,
          code: 'repeated-parameter',
          detail: 'sub may be given once: a token has one subject',
        });
      }
      subject = value;
    } else {
      const canonical = canonicalValue(value, field, mode);
      if (canonical === null) {
        const identifier = field.kind === 'identifier';
        faults.push({
          parameter: name,
          code: identifier ? 'malformed-identifier' : 'malformed-text',
          detail: `the value is not ${identifier ? describeIdentifier(mode) : 'well-formed text'}`,
        });
        continue;
      }
      const list = values[field.name] ?? [];
      values[field.name] = list;
      list.push(canonical);
      if (list.length === PARAMETER_VALUES_MAX + 1) {
        faults.push({
          parameter: name,
          code: 'too-many-values',
          detail: `at most ${PARAMETER_VALUES_MAX} values of ${name} are allowed`,
        });
      }
    }
  }
  return { request: { subject, values }, faults };
}

/**
 * A value that the data set has, so that /schedule/personal has something to show: of the fields that have a claim by
 * default, the first in the descriptor table; nothing where no event has any of them.
 */
function sampleValues(view: View, table: ClaimTable): Values {
  const rows = [...table].sort(
    (a, b) => Number(b.field.claims.length > 0) - Number(a.field.claims.length > 0),
  );
  for (const { field } of rows) {
    const value = view.sampleValue(field.name);
    if (value !== null) return { [field.name]: [value] };
  }
  return {};
}
