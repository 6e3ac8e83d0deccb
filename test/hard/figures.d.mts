export const RESULTS: string;
export function recordFigure(name: string, measured: string, details?: object, folder?: string): void;
