export function documentDigest(text: string): string;
