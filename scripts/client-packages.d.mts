export interface ClientPackages {
  folder: string
  versions: Readonly<Record<string, string>>
}
export const CURRENT: ClientPackages
export const FORMER: ClientPackages
export const CLIENTS_VARIABLE: string
export const MODULE_VARIABLE: string
export function usesModule(env?: NodeJS.ProcessEnv): boolean
export function usesFormer(env?: NodeJS.ProcessEnv): boolean
export function folderOf(name: string, env?: NodeJS.ProcessEnv): string
export function named(packages: Pick<ClientPackages, 'versions'>): string
