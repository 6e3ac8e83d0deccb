import type { IdentifierMode } from '../base/model/event.js';
import { VERSION } from '../base/version.js';
import { createOpenApiDocument } from '../http/openapi/document.js';

/** Prints the OpenAPI document. Equal options give equal output. */
export function openApiText(basePath: string, identifiers: IdentifierMode): string {
  const document = createOpenApiDocument({ basePath, identifiers, version: VERSION, isFile: true });
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** `lectern openapi` prints the document. */
export function printOpenApi(basePath: string, identifiers: IdentifierMode): void {
  process.stdout.write(openApiText(basePath, identifiers));
}
