/** GET {base}/login, only in development: gives every client a test token. */

import type { ViewSource } from '../../answer/present.js';
import type { ParameterPairs, ParseOptions, View } from '../../answer/view.js';
import type { DevelopmentIssuer } from '../../auth/development-issuer.js';
import { type ClaimTable, canonicalValue } from '../../auth/identity.js';
import type { ParameterFault, ParameterFaultCode } from '../../errors.js';
import { PARAMETER_FAULTS_MAX, PARAMETER_VALUES_MAX } from '../../limits.js';
import type { IdentifierMode } from '../../model/event.js';
import type { IdentityFieldName } from '../../model/fields.js';
import { describeIdentifier } from '../../model/identifier.js';
import { suggest } from '../../model/suggest.js';
import { sendProblem } from '../answer/problem.js';
import { sendText } from '../answer/respond.js';
import { sendSnapshotUnavailable } from '../read.js';
import { parseQueryString } from '../request/target.js';
import type { OpenRoute } from '../routes.js';

type ValuesByField = Partial<Record<IdentityFieldName, string[]>>;

export function loginRoute(
  views: ViewSource,
  basePath: string,
  { unknownParameters }: ParseOptions,
  { issuer, identifiers }: { readonly issuer: DevelopmentIssuer; readonly identifiers: IdentifierMode },
): OpenRoute {
  const { table } = issuer;
  const known = ['sub', ...table.map((row) => row.field.name)];
  return {
    kind: 'open',
    label: '/login',
    path: `${basePath}/login`,
    async handle(exchange) {
      const { view } = views;
      if (view === null) {
        sendSnapshotUnavailable(exchange, views);
        return;
      }
      const query = parseQueryString(exchange.query);
      const pairs = query.pairs.filter(([name]) => unknownParameters === 'reject' || known.includes(name));
      const { subject, values, faults } = parseLogin(pairs, table, known, identifiers);
      if (query.faults.length > 0 || faults.length > 0) {
        sendProblem(exchange, {
          code: 'parameters-invalid',
          detail: 'The query parameters are not valid; see "errors".',
          errors: [...query.faults, ...faults],
        });
        return;
      }
      const { token, expiresInSeconds } = await issuer.issue({
        subject,
        values: pairs.length === 0 ? sampleValues(view, table) : values,
      });
      sendText(
        exchange,
        200,
        ['Content-Type', 'application/json; charset=utf-8', 'Cache-Control', 'no-store'],
        JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: expiresInSeconds }),
      );
    },
  };
}

/** Accepts `sub` once, and every field that has a claim any number of times. */
function parseLogin(
  pairs: ParameterPairs,
  table: ClaimTable,
  known: readonly string[],
  mode: IdentifierMode,
): { subject: string | undefined; values: ValuesByField; faults: readonly ParameterFault[] } {
  const faults: ParameterFault[] = [];
  const values: ValuesByField = {};
  let subject: string | undefined;
  for (const [name, value] of pairs) {
    if (faults.length === PARAMETER_FAULTS_MAX) break;
    const refuse = (code: ParameterFaultCode, detail: string): void => {
      faults.push({ parameter: name, code, detail });
    };
    const field = table.find((row) => row.field.name === name)?.field;
    if (name !== 'sub' && field === undefined) {
      const near = suggest(name, known);
      const hint = near === null ? `its parameters are ${known.join(', ')}` : `did you mean ${near}?`;
      refuse('unknown-parameter', `there is no parameter of this name here: ${hint}`);
    } else if (value === '') refuse('empty-value', `${name} has no value; leave it out`);
    else if (field === undefined) {
      if (subject !== undefined)
        refuse('repeated-parameter', 'sub may be given once: a token has one subject');
      subject = value;
    } else {
      const canonical = canonicalValue(value, field, mode);
      if (canonical === null) {
        if (field.kind === 'identifier')
          refuse('malformed-identifier', `the value is not ${describeIdentifier(mode)}`);
        else refuse('malformed-text', 'the value is not well-formed text');
        continue;
      }
      values[field.name] ??= [];
      if (values[field.name]?.push(canonical) === PARAMETER_VALUES_MAX + 1)
        refuse('too-many-values', `at most ${PARAMETER_VALUES_MAX} values of ${name} are allowed`);
    }
  }
  return { subject, values, faults };
}

/** A value from the data set, so that /schedule/personal shows events. Fields with a default claim go first. */
function sampleValues(view: View, table: ClaimTable): ValuesByField {
  const rows = [...table].sort(
    (a, b) => Number(b.field.claims.length > 0) - Number(a.field.claims.length > 0),
  );
  for (const { field } of rows) {
    const value = view.sampleValue(field.name);
    if (value !== null) return { [field.name]: [value] };
  }
  return {};
}
