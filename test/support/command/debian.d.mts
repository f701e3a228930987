export function pathOf(program: string): string | null
export function install(packages: readonly string[]): void
