export function freshProduct(): boolean
export function isFresh(file: string, sources: readonly string[]): boolean
