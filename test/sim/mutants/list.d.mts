export const MUTANTS: readonly {
  name: string
  file: string
  find: string
  replace: string
  seed?: number
  ends?: boolean
  test?: string
}[]
