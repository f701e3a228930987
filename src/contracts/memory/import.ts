/** Import of another tool's memory. */
import * as z from 'zod'
import { Json, ProjectId, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'

/** As the other tool wrote it. Items are validated one by one: an invalid one does not block the others. */
const Item = z.record(z.string(), Json)
const Items = z.array(Item).max(LIMITS.import_items_max).default([])

/** Day of an archive; must exist in the calendar. */
export const ArchiveDay = z.iso.date()

/** Maps imported ids to existing ids. */
export const SameAs = z.record(Ulid, Ulid)
export type SameAs = z.infer<typeof SameAs>

export const ImportInput = z.strictObject({
  entries: Items,
  decisions: Items,
  entities: Items,
  relations: Items,
  /** Archived entries, each with the day of its archive. */
  archived: z
    .array(z.strictObject({ day: ArchiveDay, entry: Item }))
    .max(LIMITS.import_items_max)
    .default([]),
  /** `same_as` of an earlier call, if relations are imported after their entities. */
  same_as: SameAs.default({}),
})
export type ImportInput = z.infer<typeof ImportInput>

export const ImportSort = ImportInput.omit({ same_as: true }).keyof()
export type ImportSort = z.infer<typeof ImportSort>

export const ImportCounts = z.object({
  taken: z.number().int(),
  /** Number of items that already exist. */
  known: z.number().int(),
  /** Number of items that exist with different content, which is kept. */
  changed: z.number().int(),
  rejected: z.number().int(),
})
export type ImportCounts = z.infer<typeof ImportCounts>

export const Imported = z
  .object({
    /** Null for the hub's own memory. */
    project_id: ProjectId.nullable(),
    counts: z.object({
      entries: ImportCounts,
      decisions: ImportCounts,
      entities: ImportCounts,
      relations: ImportCounts,
      archived: ImportCounts,
    }),
    changed: z.array(z.object({ sort: ImportSort, id: Ulid })),
    /** `at` is the index in the imported list. */
    rejected: z.array(
      z.object({ sort: ImportSort, at: z.number().int(), id: z.string().nullable(), reason: z.string() }),
    ),
    /** Entities that exist under another id; relations are redirected to it. */
    same_as: SameAs,
  })
  .meta({ title: 'Imported' })
export type Imported = z.infer<typeof Imported>
