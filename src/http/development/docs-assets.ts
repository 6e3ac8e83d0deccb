/**
 * The files of the docs page: a fixed list, read once. No path of a request ever becomes a path of a file.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** A file as it is served. */
export interface Asset {
  /** Below {base}/docs/. */
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** What is used of Swagger UI: style, program, icon. */
const SWAGGER_UI_FILES = [
  { name: 'swagger-ui.css', contentType: 'text/css; charset=utf-8' },
  { name: 'swagger-ui-bundle.js', contentType: 'text/javascript; charset=utf-8' },
  { name: 'favicon-32x32.png', contentType: 'image/png' },
] as const;

/**
 * Reads the files of Swagger UI, 1.7 MB, synchronously: for start-up.
 *
 * @param folder address of the folder that they are in, for code that does not know its own place
 * @throws where a file is missing: then the package is not whole
 */
export function readSwaggerUiAssets(folder: URL = findSwaggerUi()): readonly Asset[] {
  return SWAGGER_UI_FILES.map((file) => ({ ...file, bytes: readFileSync(new URL(file.name, folder)) }));
}

/** The copy in the package; in a checkout, where nothing has been built, the development dependency. */
export function findSwaggerUi(): URL {
  const packaged = new URL('./swagger-ui/', import.meta.url);
  if (existsSync(packaged)) return packaged;
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  return new URL('./', pathToFileURL(manifest));
}
