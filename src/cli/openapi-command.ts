import type { IdentifierMode } from '../model/event.js';
import { createOpenApiDocument } from '../openapi/document.js';
import { VERSION } from '../version.js';

/** `lectern openapi` prints the document that development mode serves, the same for the same options. */
export function printOpenApi(basePath: string, identifiers: IdentifierMode): void {
  const document = createOpenApiDocument({ basePath, identifiers, version: VERSION, isFile: true });
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
}
