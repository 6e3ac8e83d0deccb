export interface Figure {
  readonly measured: string;
  readonly date: string;
  readonly commit: string;
  readonly isChanged: boolean;
  readonly node: string;
  readonly machine: { readonly cores: number };
}
export const DOCUMENTS: readonly string[];
export function readFigures(folder: string): Map<string, Figure>;
export function cellOf(figure: Figure): string;
export function placesIn(text: string): string[];
export function withFigures(texts: readonly string[], figures: ReadonlyMap<string, Figure>): string[];
