-- A small shop, written for these tests: CHECK, UNIQUE, triggers, a status and a stock per warehouse.
CREATE TABLE warehouses (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, capacity INTEGER NOT NULL CHECK (capacity > 0));
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, points INTEGER NOT NULL DEFAULT 0 CHECK (points >= 0), balance NUMERIC(10,2) NOT NULL CHECK (balance >= 0));
CREATE TABLE products (id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, name TEXT NOT NULL, price NUMERIC(8,2) NOT NULL CHECK (price > 0), stock INTEGER NOT NULL CHECK (stock >= 0), order_count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id), product_id INTEGER NOT NULL REFERENCES products(id), picker_id INTEGER REFERENCES employees(id),
  quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 12), status TEXT NOT NULL DEFAULT 'new' CHECK (status IN ('new','packed','shipped','cancelled')),
  ordered_on DATE NOT NULL DEFAULT CURRENT_DATE, due_on DATE NOT NULL, CHECK (due_on >= ordered_on), CHECK (length(status) < 20));
CREATE TABLE employees (id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL, warehouse_id INTEGER NOT NULL REFERENCES warehouses(id));
CREATE TABLE stock_levels (id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES products, warehouse_id INTEGER NOT NULL REFERENCES warehouses, quantity INTEGER NOT NULL CHECK (quantity >= 0), UNIQUE (product_id, warehouse_id));
CREATE TRIGGER take AFTER INSERT ON orders BEGIN UPDATE products SET stock = stock - NEW.quantity WHERE id = NEW.product_id; UPDATE products SET order_count = order_count + 1 WHERE id = NEW.product_id; END;
CREATE TRIGGER give AFTER DELETE ON orders BEGIN UPDATE products SET stock = stock + OLD.quantity WHERE id = OLD.product_id; END;
CREATE TRIGGER odd AFTER UPDATE ON orders BEGIN DELETE FROM products; END;
