/*
 * Nested catalog to a flat table: reads catalog.json, writes flat.csv and stats.json.
 * Runs anywhere; in airlock the data is in /in and results go to /out.
 */
'use strict';
const fs = require('fs');
const path = require('path');

const IN = process.env.IN || '/in';
const OUT = process.env.OUT || '/out';

function field(value) {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

const catalog = JSON.parse(fs.readFileSync(path.join(IN, 'catalog.json'), 'utf8'));
const rows = [['category', 'path', 'id', 'name', 'tags', 'area', 'sku', 'stock', 'price']];
const stats = { version: catalog.version, categories: {}, tags: {}, unpriced: [] };

for (const category of catalog.categories) {
    let stock = 0;
    let cents = 0;
    for (const product of category.products) {
        for (const tag of product.tags) {
            stats.tags[tag] = (stats.tags[tag] || 0) + 1;
        }
        for (const variant of product.variants) {
            rows.push([category.name, category.path.join('/'), product.id, product.name,
                product.tags.join('|'), product.size.w * product.size.h, variant.sku,
                variant.stock, variant.price]);
            stock += variant.stock;
            if (variant.price === null) {
                stats.unpriced.push(variant.sku);
            } else {
                cents += Math.round(variant.price * 100) * variant.stock;
            }
        }
    }
    stats.categories[category.name] = {
        products: category.products.length, stock, value: (cents / 100).toFixed(2),
    };
}

fs.writeFileSync(path.join(OUT, 'flat.csv'), rows.map((r) => r.map(field).join(',')).join('\n') + '\n');
fs.writeFileSync(path.join(OUT, 'stats.json'), JSON.stringify(stats, null, 2) + '\n');
console.log(`${catalog.categories.length} categories, ${rows.length - 1} variants flattened`);
console.log(`${stats.unpriced.length} variants without a price`);
